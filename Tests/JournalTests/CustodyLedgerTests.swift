import DomainEvents
import TestSupport
import Testing

@testable import Journal

@Suite("What is owed, from the records of a journal")
struct CustodyLedgerTests {
    private static let id = EventID(origin: "host", incarnation: 1, number: 1)
    private static let a = NotedReceiver(name: "a")
    private static let member = NotedReceiver(name: "pool-2", pool: "pool")

    private static func event(_ id: EventID, at position: UInt64, attempt: Int = 1) -> JournalRecord {
        let context = EventContext(id: id, nanosecondsSinceEpoch: 0, attempt: attempt)
        return JournalRecord(position: position, name: "Counted", context: context, payload: [])
    }

    private static func owed(_ names: String...) -> [OwedReceiver] {
        names.map { OwedReceiver(name: $0, isSpecified: true) }
    }

    private static func ledger(owedTo names: String..., attempt: Int = 1) -> CustodyLedger {
        var ledger = CustodyLedger()
        let receivers = names.map { OwedReceiver(name: $0, isSpecified: true) }
        ledger.recorded(id, at: 1, published: 0, owedTo: receivers, as: event(id, at: 1, attempt: attempt))
        return ledger
    }

    private static let lettersAttempts = 4

    private static func letter(_ receiver: NotedReceiver, attempts: Int = lettersAttempts) -> NotedLetter {
        .refused(id, by: receiver, number: 9, reasons: ["no"], attempts: attempts)
    }

    private static func settled(_ receiver: NotedReceiver, _ range: ClosedRange<UInt64> = 1...1) -> CustodyNote {
        .settled(source: id.source, ranges: [range], by: receiver)
    }

    /// What one receiver is owed, in a word: the state of a debt.
    private static func state(_ ledger: CustodyLedger) -> String {
        var ledger = ledger
        let found = ledger.takeOwed()
        guard let debt = found.first else { return "nothing" }
        return "\(found.count): \(debt.attempts) \(debt.strikes.count) \(debt.letter == nil ? "-" : "letter")"
    }

    /// Each record in each state of a debt, and what is owed then: how many, attempts, strikes, letter.
    private static let table: [(state: [CustodyNote], note: CustodyNote, then: String)] = [
        ([], settled(a), "nothing"),
        ([], settled(NotedReceiver(name: "b")), "1: 1 0 -"),
        ([], settled(NotedReceiver(name: "b", pool: "a")), "nothing"),
        ([], settled(a, 0 ... .max), "nothing"),
        ([], settled(a, 2 ... .max), "1: 1 0 -"),
        ([], .settled(source: EventSource(origin: "b", incarnation: 1), ranges: [1...1], by: a), "1: 1 0 -"),
        ([], .strike(id, at: a, reason: "x"), "1: 2 1 -"),
        ([], .letter(letter(a)), "1: 1 0 letter"),
        ([], .letterGone(id, of: a, isOwedAgain: false), "1: 1 0 -"),
        ([], .letterGone(id, of: a, isOwedAgain: true), "1: 1 0 -"),
        ([], .hostStarted(incarnation: 2), "1: 2 0 -"),
        ([.strike(id, at: a, reason: "x")], .strike(id, at: a, reason: "y"), "1: 3 2 -"),
        ([.strike(id, at: a, reason: "x")], settled(a), "nothing"),
        ([.letter(letter(a))], settled(a), "1: 1 0 letter"),
        ([.letter(letter(a))], .hostStarted(incarnation: 2), "1: 1 0 letter"),
        ([.letter(letter(a))], .letterGone(id, of: a, isOwedAgain: false), "nothing"),
        ([.letter(letter(a))], .letterGone(id, of: a, isOwedAgain: true), "1: 5 0 -"),
        ([.letter(letter(a)), .letterGone(id, of: a, isOwedAgain: true)], settled(a), "nothing"),
        ([settled(a)], .strike(id, at: a, reason: "x"), "nothing"),
        ([settled(a)], .letter(letter(a)), "nothing"),
        ([settled(a)], .letterGone(id, of: a, isOwedAgain: true), "nothing"),
    ]

    @Test("Each record in each state of a debt")
    func states() {
        for row in Self.table {
            var ledger = Self.ledger(owedTo: "a")
            for note in row.state { ledger.noted(note) }
            ledger.noted(row.note)
            #expect(Self.state(ledger) == row.then, "\(row.state) \(row.note)")
            #expect(ledger.isEmpty == (row.then == "nothing"))
        }
    }

    @Test("J22: what one receiver has settled stays owed to the other, and a pool's member settles for its pool")
    func receivers() {
        var ledger = Self.ledger(owedTo: "a", "pool")
        ledger.noted(Self.settled(Self.a))
        var copy = ledger
        #expect(copy.takeOwed().map(\.receiver.name) == ["pool"])
        ledger.noted(Self.settled(Self.member))
        #expect(ledger.isEmpty && ledger.lowestPosition == nil)
    }

    @Test("The attempt that an importer states counts, and no number overflows")
    func attempts() {
        #expect(Self.state(Self.ledger(owedTo: "a", attempt: 7)) == "1: 7 0 -")
        var ledger = Self.ledger(owedTo: "a")
        ledger.noted(.letter(Self.letter(Self.a, attempts: .max)))
        ledger.noted(.letterGone(Self.id, of: Self.a, isOwedAgain: true))
        ledger.noted(.hostStarted(incarnation: 1))
        #expect(Self.state(ledger) == "1: \(Int.max) 0 -")
    }

    @Test("Behind missing events no debt of an earlier event ends, until a host has started that has seen them missing")
    func holes() {
        var ledger = Self.ledger(owedTo: "a", "b")
        ledger.eventsAreMissing()
        ledger.noted(Self.settled(Self.a))
        #expect(Self.state(ledger) == "2: 1 0 -")
        let later = EventID(origin: "host", incarnation: 1, number: 2)
        ledger.recorded(later, at: 3, published: 0, owedTo: Self.owed("a"), as: Self.event(later, at: 3))
        ledger.noted(Self.settled(Self.a, 2...2))
        #expect(Self.state(ledger) == "2: 1 0 -")
        ledger.noted(.hostStarted(incarnation: 2))
        ledger.noted(Self.settled(Self.a))
        #expect(Self.state(ledger) == "1: 2 0 -")
    }

    /// Records that a journal may have many of; nil stands for missing events.
    private static let frequent: [CustodyNote?] = [
        nil,
        .hostStarted(incarnation: 2),
        .strike(id, at: a, reason: "signal 9 while in flight"),
    ]

    @Test(
        "However much is owed, a hole, a start of a host and a strike take a few steps",
        .timeLimit(.minutes(1)),
        arguments: CustodyLedgerTests.frequent
    )
    func steps(note: CustodyNote?) throws {
        // A step for each event that is owed, or for each earlier strike, would make thousands of millions of steps.
        var ledger = CustodyLedger()
        for number in 1...UInt64(50_000) {
            let id = EventID(source: Self.id.source, number: number)
            let event = Self.event(id, at: number)
            ledger.recorded(id, at: number, published: 0, owedTo: Self.owed("a"), as: event)
            for _ in 0..<4 {
                try Task.checkCancellation()
                if let note { ledger.noted(note) } else { ledger.eventsAreMissing() }
            }
        }
        let owed = ledger.takeOwed()
        #expect(owed.count == 50_000)
        switch note {
        case .hostStarted: #expect(owed.first?.attempts == 200_001 && owed.last?.attempts == 5)
        case .strike: #expect(owed.first?.attempts == 200_001 && owed.first?.strikes.count == 200_000)
        default: #expect(owed.first?.attempts == 1)
        }
    }

    @Test("An event that was recorded twice is owed once, and is taken out once, where it was recorded first")
    func repeats() {
        var ledger = Self.ledger(owedTo: "a")
        let other = EventID(origin: "host", incarnation: 1, number: 2)
        ledger.recorded(other, at: 2, published: 0, owedTo: Self.owed("a"), as: Self.event(other, at: 2))
        ledger.recorded(Self.id, at: 3, published: 0, owedTo: Self.owed("a", "b"), as: Self.event(Self.id, at: 3))
        #expect(ledger.lowestPosition == 1)
        #expect(ledger.takeOwed().map { "\($0.context.id.number) \($0.receiver.name)" } == ["1 a", "1 b", "2 a"])
        #expect(ledger.takeOwed().isEmpty && !ledger.isEmpty)
    }

    /// The same as the ledger, by going through all records for each pair of an event and a receiver.
    private enum Record {
        case event(UInt64, owedTo: [String])
        case settled(ClosedRange<UInt64>, by: String)
        case strike(UInt64, at: String)
        case letter(UInt64, of: String)
        case letterGone(UInt64, of: String, isOwedAgain: Bool)
        case hole
        case host
    }

    private static func naive(_ records: [Record], _ number: UInt64, _ receiver: String) -> String? {
        var state: String?
        var (attempts, strikes) = (0, 0)
        var isDoubtful = false
        for record in records {
            switch record {
            case .event(number, let owed) where owed.contains(receiver) && state == nil:
                (state, isDoubtful, attempts, strikes) = ("owed", false, 1, 0)
            case .settled(let range, receiver) where !isDoubtful && range.contains(number) && state == "owed":
                state = nil
            case .strike(number, receiver) where state != nil: (attempts, strikes) = (attempts + 1, strikes + 1)
            case .letter(number, receiver) where state != nil: state = "letter"
            case .letterGone(number, receiver, isOwedAgain: true) where state != nil:
                if state == "letter" { attempts = max(attempts, lettersAttempts + 1) }
                (state, strikes) = ("owed", 0)
            case .letterGone(number, receiver, isOwedAgain: false) where !isDoubtful && state == "letter":
                state = nil
            case .hole: isDoubtful = true
            case .host:
                isDoubtful = false
                if state == "owed" { attempts += 1 }
            default: break
            }
        }
        return state.map { "\($0), \(attempts) attempts, \(strikes) strikes" }
    }

    @Test("Random histories end as a naive model says", .timeLimit(.minutes(5)))
    func histories() {
        var random = SeededGenerator.announced()
        for _ in 0..<rounds(2_000) {
            let names = ["a", "b", "c"]
            var records: [Record] = []
            var ledger = CustodyLedger()
            for index in 0..<UInt64.random(in: 1...60, using: &random) {
                let number = UInt64.random(in: 1...8, using: &random)
                let name = names[Int.random(in: 0..<3, using: &random)]
                let id = EventID(source: Self.id.source, number: number)
                let receiver = NotedReceiver(name: name)
                switch Int.random(in: 0..<13, using: &random) {
                case 0..<5:
                    let owed = names.filter { _ in Bool.random(using: &random) }
                    records.append(.event(number, owedTo: owed))
                    ledger.recorded(
                        id,
                        at: index + 1,
                        published: 0,
                        owedTo: owed.map { OwedReceiver(name: $0, isSpecified: true) },
                        as: Self.event(id, at: index + 1)
                    )
                case 5..<8:
                    let range = number...number + UInt64.random(in: 0...9, using: &random)
                    records.append(.settled(range, by: name))
                    ledger.noted(Self.settled(receiver, range))
                case 8:
                    records.append(.letter(number, of: name))
                    var letter = Self.letter(receiver)
                    letter.event = id
                    ledger.noted(.letter(letter))
                case 9:
                    let isOwedAgain = Bool.random(using: &random)
                    records.append(.letterGone(number, of: name, isOwedAgain: isOwedAgain))
                    ledger.noted(.letterGone(id, of: receiver, isOwedAgain: isOwedAgain))
                case 10:
                    records.append(.hole)
                    ledger.eventsAreMissing()
                case 11:
                    records.append(.strike(number, at: name))
                    ledger.noted(.strike(id, at: receiver, reason: "x"))
                default:
                    records.append(.host)
                    ledger.noted(.hostStarted(incarnation: index))
                }
            }
            var expected: Set<String> = []
            for number in UInt64(1)...8 {
                for name in names {
                    if let state = Self.naive(records, number, name) { expected.insert("\(number) \(name) \(state)") }
                }
            }
            let found = ledger.takeOwed().map { owed in
                let state = owed.letter == nil ? "owed" : "letter"
                let counts = "\(owed.attempts) attempts, \(owed.strikes.count) strikes"
                return "\(owed.context.id.number) \(owed.receiver.name) \(state), \(counts)"
            }
            #expect(Set(found) == expected && found.count == expected.count, "\(records)")
        }
    }
}

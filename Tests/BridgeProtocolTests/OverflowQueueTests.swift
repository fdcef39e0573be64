import CBOR
import DomainEvents
import TestSupport
import Testing

@testable import BridgeProtocol

@Suite("What waits before an outbox")
struct OverflowQueueTests {
    private static let source = EventSource(origin: "host", incarnation: 1)

    private static func event(_ number: UInt64, _ name: String) -> OverflowQueue.Waiting {
        [UInt8](repeating: 0xF6, count: Int(number % 700)).withUnsafeBytes {
            OverflowQueue.Waiting(
                name: name,
                context: EventContext(id: EventID(source: source, number: number), nanosecondsSinceEpoch: 1),
                attempt: 1,
                wantsReceipt: false,
                payload: $0
            )
        }
    }

    @Test("a policy is of a name to the byte, and so is a place in line")
    func spellings() {
        #expect(OverflowPolicies(["K": .fail]).policy(of: "\u{212A}") == .wait)
        #expect(OverflowPolicies(["\u{212A}": .fail]).policy(of: "\u{212A}") == .fail)
        var queue = OverflowQueue()
        _ = queue.append(Self.event(1, "K"))
        _ = queue.append(Self.event(2, "\u{212A}"))
        #expect(queue.dropOldest(of: "\u{212A}")?.context.id.number == 2)
        #expect(queue.dropOldest(of: "\u{212A}") == nil && queue.chargedBytes(of: "K") > 0)
    }

    @Test("no policy takes a replayed event out, which has no place in line")
    func replayed() {
        let live = Self.event(2, "A")
        let replayed = live.payload.withUnsafeBytes {
            OverflowQueue.Waiting(
                name: "A",
                context: Self.event(1, "A").context.replayed,
                attempt: 2,
                wantsReceipt: true,
                payload: $0
            )
        }
        var queue = OverflowQueue()
        _ = queue.append(replayed)
        _ = queue.append(live)
        #expect(queue.chargedBytes(of: "A") == live.charge && queue.chargedBytes == live.charge + replayed.charge)
        #expect(queue.dropOldest(of: "A")?.context.id.number == 2)
        #expect(queue.dropOldest(of: "A") == nil && queue.events == 1)
        queue.removeFirst()
        #expect(queue.events == 0 && queue.chargedBytes == 0)
    }

    @Test("no policy takes an event out before it is released; afterwards it is as old as it was")
    func heldFromPolicies() {
        var queue = OverflowQueue()
        let first = queue.append(Self.event(1, "A"), key: [7], isHeld: true)
        #expect(queue.dropOldest(of: "A") == nil && queue.supersede(name: "A", key: [7]) == nil)
        #expect(queue.chargedBytes(of: "A") == 0 && queue.charge(ofEventNamed: "A", key: [7]) == nil)
        _ = queue.append(Self.event(2, "A"), key: [7])
        _ = queue.append(Self.event(3, "A"))
        queue.release(first)
        #expect(queue.chargedBytes(of: "A") == queue.chargedBytes && queue.events == 3)
        #expect(queue.supersede(name: "A", key: [7])?.context.id.number == 2)
        #expect(queue.dropOldest(of: "A")?.context.id.number == 1)
        #expect(queue.dropOldest(of: "A")?.context.id.number == 3 && queue.events == 0)
        // What becomes free for another link may be taken out there.
        _ = queue.append(Self.event(4, "A"), key: [7], isHeld: true)
        queue.releaseAll()
        #expect(queue.supersede(name: "A", key: [7])?.context.id.number == 4)
    }

    /// The simplest model: a list, with every gap on its own.
    private struct Model {
        enum Item: Equatable {
            case event(UInt64, name: String, key: UInt8?)
            case missing(UInt64, name: String)
        }

        var items: [Item] = []

        /// For each run of gaps between two events, how many events of each name are missing.
        var shape: [String] {
            var shape: [String] = []
            var run: [String: [UInt64]] = [:]
            func endRun() {
                if !run.isEmpty {
                    let texts = run.map {
                        "\($0.key): \($0.value.count) from \($0.value.min() ?? 0) to \($0.value.max() ?? 0)"
                    }
                    shape.append("[" + texts.sorted().joined(separator: ", ") + "]")
                }
                run = [:]
            }
            for item in items {
                switch item {
                case .missing(let number, let name): run[name, default: []].append(number)
                case .event(let number, _, _):
                    endRun()
                    shape.append("\(number)")
                }
            }
            endRun()
            return shape
        }
    }

    @Test(
        "is what a plain list would be, whatever is dropped, replaced and sent on in whatever order",
        .timeLimit(.minutes(1))
    )
    func isLikeAList() {
        var random = SeededGenerator.announced()
        let seed = random.seed
        for round in 0..<60 {
            var queue = OverflowQueue()
            var model = Model()
            var number: UInt64 = 0
            // Now and then the queue runs empty, and begins again.
            let fillings = Int.random(in: 1...6, using: &random)
            for _ in 0..<(fillings * 40) {
                let name = ["A", "B", "C"].randomElement(using: &random) ?? "A"
                switch Int.random(in: 0..<10, using: &random) {
                case 0...3:
                    number += 1
                    let key = Bool.random(using: &random) ? UInt8.random(in: 0..<4, using: &random) : nil
                    if let key, queue.supersede(name: name, key: [key]) != nil {
                        let index = model.items.firstIndex {
                            if case .event(_, name, key) = $0 { true } else { false }
                        }
                        #expect(index != nil, "seed \(seed), round \(round)")
                        if let index { model.items.remove(at: index) }
                    }
                    _ = queue.append(Self.event(number, name), key: key.map { [$0] })
                    model.items.append(.event(number, name: name, key: key))
                case 4...5:
                    let index = model.items.firstIndex { if case .event(_, name, _) = $0 { true } else { false } }
                    let dropped = queue.dropOldest(of: name)
                    guard let index, case .event(let oldest, _, _) = model.items[index] else {
                        #expect(dropped == nil, "seed \(seed), round \(round)")
                        continue
                    }
                    #expect(dropped?.context.id.number == oldest, "seed \(seed), round \(round)")
                    model.items[index] = .missing(oldest, name: name)
                case 6:
                    number += 1
                    queue.append(Gap(EventID(source: Self.source, number: number), name: name, reason: .policy))
                    model.items.append(.missing(number, name: name))
                default:
                    guard let first = queue.first else {
                        #expect(model.items.isEmpty, "seed \(seed), round \(round)")
                        continue
                    }
                    queue.removeFirst()
                    switch first {
                    case .event(let event):
                        let expected = model.items.removeFirst()
                        guard case .event(event.context.id.number, event.name, _) = expected else {
                            Issue.record("\(event.context.id) came where \(expected) was expected, seed \(seed)")
                            return
                        }
                    case .gap(let gap):
                        var left = gap.count.asWritten
                        model.items.removeAll { item in
                            guard left > 0, case .missing(_, gap.name) = item else { return false }
                            left -= 1
                            return true
                        }
                        #expect(left == 0, "seed \(seed), round \(round)")
                    }
                }
                check(queue, model, "seed \(seed), round \(round)")
            }
        }
    }

    @Test("a gap costs no search through a long row of gaps of other names", .timeLimit(.minutes(1)))
    func manyNames() {
        // If each gap searched its row, or the row were merged anew for each gap, this would take minutes.
        let names = (0..<4_000).map { "N\($0)" }
        var queue = OverflowQueue()
        var number: UInt64 = 0
        func append(_ name: String) {
            number += 1
            _ = queue.append(Self.event(number, name))
        }
        for name in names { append(name) }
        // A row that grows at its end; then rows of one gap each, which grow together; then the events behind both.
        let halves = stride(from: 0, to: names.count, by: 2).map { names[$0] }
        for round in [names, halves, names] {
            for name in round {
                #expect(queue.dropOldest(of: name) != nil)
                append(name)
            }
        }
        #expect(queue.events == names.count)
        // The gaps behind the last event.
        for _ in 0..<2 {
            for name in names {
                number += 1
                queue.append(Gap(EventID(source: Self.source, number: number), name: name, reason: .policy))
            }
        }
        var missing: [String: UInt64] = [:]
        var rest = queue
        while let first = rest.first {
            if case .gap(let gap) = first { missing[gap.name, default: 0] += gap.count.asWritten }
            rest.removeFirst()
        }
        #expect(missing == Dictionary(uniqueKeysWithValues: names.map { ($0, halves.contains($0) ? 5 : 4) }))
        #expect(queue.count <= 3 * names.count)
    }

    private func check(_ queue: OverflowQueue, _ model: Model, _ place: Comment) {
        var events: [UInt64] = []
        var bytes = 0
        queue.forEachEvent {
            events.append($0.context.id.number)
            bytes += $0.charge
        }
        #expect(queue.events == events.count && queue.chargedBytes == bytes, place)
        #expect(queue.isEmpty == model.items.isEmpty, place)
        var rest = queue
        var shape: [String] = []
        var run: [Gap] = []
        func endRun() {
            guard !run.isEmpty else { return }
            let texts = run.map { "\($0.name): \($0.count) from \($0.ranges[0].first.number) to \($0.ranges[0].last)" }
            shape.append("[" + texts.sorted().joined(separator: ", ") + "]")
            #expect(Set(run.map(\.name)).count == run.count, "no two neighbours say what one could, \(place)")
            run = []
        }
        while let first = rest.first {
            switch first {
            case .gap(let gap): run.append(gap)
            case .event(let event):
                endRun()
                shape.append("\(event.context.id.number)")
            }
            rest.removeFirst()
        }
        endRun()
        #expect(shape == model.shape, place)
    }

    @Test("does not leave before it is released, nor does what lies behind it")
    func held() {
        var queue = OverflowQueue()
        _ = queue.append(Self.event(1, "A"))
        let second = queue.append(Self.event(2, "A"), isHeld: true)
        _ = queue.append(Self.event(3, "A"))
        #expect(queue.first != nil)
        queue.removeFirst()
        #expect(queue.first == nil)
        #expect(!queue.isEmpty)
        queue.release(second)
        #expect(queue.first != nil)
    }

    @Test("knows a field of an encoded event by its value, and of what is no event knows nothing")
    func payloadFields() throws {
        func value(_ name: String, _ bytes: [UInt8]) -> [UInt8]? {
            bytes.withUnsafeBytes { PayloadField.value(of: name, in: $0) }
        }
        let event = try CBORValue.map([
            .init(key: .unsigned(7), value: .text("seven")),
            .init(key: .text("box"), value: .map([.init(key: .text("id"), value: .unsigned(1))])),
            .init(key: .text("id"), value: .unsigned(500)),
        ]).encoded()
        #expect(value("id", event) == [0x19, 0x01, 0xF4])
        #expect(value("box", event) == [0xA1, 0x62, 0x69, 0x64, 0x01])
        #expect(value("seven", event) == nil)
        #expect(value("id", []) == nil)
        #expect(value("id", [0x81, 0x62, 0x69, 0x64]) == nil)
        for end in 0..<event.count { #expect(value("id", Array(event[..<end])) == nil) }
    }
}

@Suite("A gap's frame")
struct GapFrameTests {
    private static let gap = GapFrame(
        sequence: 70_000,
        name: .number(3),
        count: 12,
        reason: 1,
        ranges: [
            GapFrame.Range(first: .sender(number: 5), last: 80),
            GapFrame.Range(first: .other(origin: "canvas", incarnation: .max, number: 1), last: .max),
        ]
    )

    private static func body(_ gap: GapFrame) -> [UInt8] {
        let buffer = CBORBuffer(minimumCapacity: 64)
        gap.encode(into: buffer)
        return Array(buffer.bytes.dropFirst(FrameDecoder.headBytes))
    }

    private static func decode(_ body: [UInt8]) throws -> GapFrame {
        try body.withUnsafeBytes { try GapFrame(decoding: $0, limits: LinkLimits()) }
    }

    @Test("comes back as it was")
    func roundTrip() throws {
        #expect(try Self.decode(Self.body(Self.gap)) == Self.gap)
        let named = GapFrame(sequence: 1, name: .text("BoxSaved"), count: 1, reason: 9, ranges: [])
        #expect(try Self.decode(Self.body(named)) == named)
    }

    @Test("is refused, and never a trap, if it ends early, has too many ranges or stands for nothing")
    func isRefused() {
        let body = Self.body(Self.gap)
        for end in 0..<body.count { #expect(throws: (any Error).self) { try Self.decode(Array(body[..<end])) } }
        for position in body.indices {
            for bit in 0..<8 {
                var broken = body
                broken[position] ^= 1 << bit
                _ = try? Self.decode(broken)
            }
        }
        let ofAll = GapFrame(sequence: 1, name: .text("*"), count: 1, reason: 1, ranges: [])
        #expect(throws: LinkViolation.self) { try Self.decode(Self.body(ofAll)) }
        let none = GapFrame(sequence: 1, name: .number(1), count: 0, reason: 1, ranges: [])
        #expect(throws: LinkViolation.self) { try Self.decode(Self.body(none)) }
        let many = GapFrame(
            sequence: 1,
            name: .number(1),
            count: 1,
            reason: 1,
            ranges: (0...UInt64(Gap.maximumRanges)).map { GapFrame.Range(first: .sender(number: $0), last: $0) }
        )
        #expect(throws: LinkViolation.self) { try Self.decode(Self.body(many)) }
        let event: [UInt8] = [body[0], UInt8(FrameKind.event.rawValue)] + body.dropFirst(2)
        #expect(
            #expect(throws: LinkViolation.self) { try Self.decode(event) }?.description.contains("is not a gap") == true
        )
        let longer = #expect(throws: LinkViolation.self) { try Self.decode(body + [0]) }
        #expect(longer?.description == "1 bytes follow the gap in its frame")
    }
}

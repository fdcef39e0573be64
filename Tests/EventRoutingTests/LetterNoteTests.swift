import BridgePlatform
import BridgeProtocol
import DomainEvents
import Locks
import TestSupport
import Testing

@testable import EventRouting

/// Keeps the notes that it gets, in order.
private final class Notebook: IdleRecorder, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var notes: [CustodyNote] = []
    var all: [CustodyNote] { lock.withLock { notes } }

    func note(_ note: CustodyNote) { lock.withLock { notes.append(note) } }
}

@Suite("What is noted of dead letters")
final class LetterNoteTests {
    private let publisher = EventPublisher()
    private let notebook = Notebook()
    private let poller: Poller

    init() throws {
        poller = try Poller(name: "letter test")
        publisher.recording.offer(notebook)
    }

    deinit { poller.stop() }

    private func store(_ bounds: DeadLetterBounds) -> DeadLetterStore {
        DeadLetterStore(
            bounds: bounds,
            reports: ReportStrand(publisher: publisher, poller: poller),
            journal: publisher.recording
        )
    }

    private static func event(_ number: UInt64) -> UndeliveredEvent {
        let id = EventID(origin: "host", incarnation: 1, number: number)
        return UndeliveredEvent(
            name: "Counted",
            context: EventContext(id: id, nanosecondsSinceEpoch: 0),
            attempts: 1,
            isOwed: true,
            payload: [UInt8](repeating: 0, count: 8)
        )
    }

    @Test(
        "A letter is noted before it is noted that the letter is gone, however many threads there are",
        .timeLimit(.minutes(2))
    )
    func order() async {
        let store = store(DeadLetterBounds(letters: 2, bytes: 1 << 20, evictsOldest: true))
        await onThreads(4) { thread in
            for index in 0..<5_000 {
                _ = store.addIfRoom(
                    Self.event(UInt64(thread * 10_000 + index)),
                    for: NotedReceiver(name: "a"),
                    cause: .refused,
                    reasons: ["no"]
                )
                if let newest = store.letters.last { _ = store.discard(newest.number) }
            }
        }
        var present: Set<UInt64> = []
        var misplaced = 0
        for note in notebook.all {
            switch note {
            case .letter(let letter): present.insert(letter.event.number)
            case .letterGone(let id, _, isOwedAgain: false): if present.remove(id.number) == nil { misplaced += 1 }
            default: misplaced += 1
            }
        }
        #expect(misplaced == 0)
        #expect(present == Set(store.letters.map(\.event.context.id.number)))
    }

    @Test("Three hundred thousand letters are restored, and evicted, in no time", .timeLimit(.minutes(5)))
    func many() {
        for evictsOldest in [false, true] {
            let store = store(DeadLetterBounds(letters: 10, bytes: 1 << 30, evictsOldest: evictsOldest))
            let count: UInt64 = 300_000
            store.restore(
                (1...count).reversed().map { number in
                    DeadLetterRecord(
                        number: number,
                        notedReceiver: NotedReceiver(name: "a"),
                        event: Self.event(number),
                        cause: .refused,
                        reasons: [],
                        nanosecondsSinceEpoch: 0
                    )
                }
            )
            #expect(store.letters.map(\.number) == Array(1...count))
            let isKept = store.addIfRoom(Self.event(0), for: NotedReceiver(name: "a"), cause: .refused, reasons: [])
            #expect(isKept == evictsOldest)
            #expect(store.letters.last?.number == (evictsOldest ? count + 1 : count))
            #expect(store.letters.count == (evictsOldest ? 10 : Int(count)))
        }
    }
}

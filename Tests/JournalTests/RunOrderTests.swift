import BridgePlatform
import DomainEvents
import EventBridge
import EventBridgeTesting
import Locks
import TestSupport
import Testing

/// A journal that is slow with its first event: it waits for the second one, for a second at most.
private final class SlowRecorder: IdleRecorder, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private let changed: Condition
    private var entered = 0
    private var numbers: [UInt64] = []

    init() { changed = Condition(lock: lock) }

    /// The recorded events, in the order of their records.
    var recorded: [UInt64] { lock.withLock { numbers } }

    private func take(_ context: BorrowedContext) {
        lock.withLock {
            entered += 1
            let deadline = MonotonicClock.now() + 1_000_000_000
            if entered == 1 {
                while numbers.isEmpty, MonotonicClock.now() < deadline { changed.wait(untilNanoseconds: deadline) }
            }
            numbers.append(context.number)
            changed.broadcast()
        }
    }

    func recordAtOnce(_ payload: UnsafeRawBufferPointer, context: BorrowedContext, owed: [OwedReceiver]) -> Bool {
        take(context)
        return true
    }
}

@Suite("The order of a worker's records")
struct RunOrderTests {
    /// A handler that takes so long loses the reading to another thread; a journal must not.
    @Test("A journal that is slow with one event gets the events behind it later", .timeLimit(.minutes(1)))
    func slowJournal() async throws {
        let publisher = EventPublisher()
        let recorder = SlowRecorder()
        let site = SubscriptionSite(file: #fileID, line: #line)
        let recording = publisher.record(Counted.self, by: recorder, at: site)
        let subscription = publisher.subscribe(to: Counted.self) { _ in }
        let bridge = try await BridgeHost.inMemory(publisher) { publisher in
            let task = Task { for number in 1...20 { try await publisher.send(Counted(number: number)) } }
            withExtendedLifetime(task) {}
            return []
        }
        while recorder.recorded.count < 20 { await Task.yield() }
        #expect(recorder.recorded == recorder.recorded.sorted())
        await bridge.shutdown()
        subscription.cancel()
        recording.cancel()
    }
}

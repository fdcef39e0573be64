import Synchronization
import TestSupport
import Testing

@testable import DomainEvents

@Suite("An event that is published for a caller that waits", .timeLimit(.minutes(1)))
struct DeliveryWaitTests {
    private struct TimeIsOver: Error {}

    @Test("has left when the caller goes on, though its time ends while the event is being put into the outboxes")
    func leaving() async {
        let wait = DeliveryWait<Int>()
        let hasReturned = Atomic<Bool>(false)
        let seenInTheMiddle = Collected<Bool>()
        do {
            _ = try await value(of: wait) {
                try wait.beginLeaving()
                wait.finish(.failure(TimeIsOver()))
                // The caller has enough time to go on, if nothing holds it.
                for _ in 0..<200 where !hasReturned.load(ordering: .acquiring) {
                    try? await Task.sleep(for: .milliseconds(1))
                }
                seenInTheMiddle.add(hasReturned.load(ordering: .acquiring))
                wait.hasLeft()
            }
            Issue.record("there is no outcome")
        } catch {
            hasReturned.store(true, ordering: .releasing)
            #expect(error is TimeIsOver)
        }
        #expect(await seenInTheMiddle.wait(for: 1) == [false])
    }

    @Test("never leaves once the time is over")
    func late() async {
        let wait = DeliveryWait<Int>()
        wait.finish(.failure(TimeIsOver()))
        #expect(throws: CancellationError.self) { try wait.beginLeaving() }
        // A wait that fails to begin holds no caller.
        await #expect(throws: TimeIsOver.self) { _ = try await value(of: wait) { try wait.beginLeaving() } }
    }

    @Test("keeps its caller no longer than until it has failed to leave")
    func failing() async {
        struct NoRoom: Error {}
        let wait = DeliveryWait<Int>()
        await #expect(throws: NoRoom.self) {
            _ = try await value(of: wait) {
                try wait.beginLeaving()
                throw NoRoom()
            }
        }
    }

    @Test("is not said to stay here if its time ends while it leaves, and is said so if it never leaves")
    func progress() async {
        for leaves in [true, false] {
            let (publisher, clock) = (EventPublisher(), HandClock())
            let context = publisher.makeContext(causedBy: nil)
            let leave = { @Sendable (ledger: ReceiptLedger, wait: DeliveryWait<DeliveryReceipt>) async throws in
                if leaves { try wait.beginLeaving() }
                await clock.asleep.wait(for: 1)
                clock.advance(by: .seconds(5))
                // Succeeds until the wait has ended.
                while leaves, (try? wait.beginLeaving()) != nil {
                    try Task.checkCancellation()
                    await Task.yield()
                }
                while !leaves, !Task.isCancelled { await Task.yield() }
            }
            let error = await #expect(throws: DeliveryError.self) {
                try await publisher.awaitReceipts(
                    of: "Ping",
                    context: context,
                    within: .seconds(5),
                    clock: clock,
                    handOut: leave
                )
            }
            #expect(error?.code == .timedOut && error?.id == context.id)
            #expect((error?.progress != nil) == leaves)
        }
    }

    @Test("keeps its caller while it leaves, also if the caller is cancelled")
    func cancelled() async {
        let wait = DeliveryWait<Int>()
        let isLeaving = Collected<Bool>()
        let order = Collected<String>()
        let caller = Task {
            _ = try? await value(of: wait) {
                try wait.beginLeaving()
                isLeaving.add(true)
                // Wait for the cancellation, which reaches this task only when the caller has gone on.
                for _ in 0..<200 where !Task.isCancelled { try? await Task.sleep(for: .milliseconds(1)) }
                order.add("left")
                wait.hasLeft()
            }
            order.add("returned")
        }
        await isLeaving.wait(for: 1)
        caller.cancel()
        await caller.value
        #expect(order.all == ["left", "returned"])
    }

    private func value(
        of wait: DeliveryWait<Int>,
        _ start: @escaping @Sendable () async throws -> Void
    ) async throws -> Int {
        try await wait.value(
            within: .seconds(60),
            clock: ContinuousClock(),
            timeIsOver: { wait.finish(.failure(DeliveryError(.timedOut, of: "Ping", "the time is over"))) },
            start: start
        )
    }
}

import Dispatch
import TestSupport
import Testing

@testable import DomainEvents

@Suite("The ends of waits by the system's clock", .timeLimit(.minutes(2)))
struct DeliveryDeadlineTests {
    private struct TimeIsOver: Error {}

    private let publisher = EventPublisher()

    @Test("come in the order of their times, however they were added, and without those that were cancelled")
    func order() {
        var random = SeededGenerator.announced()
        let start = ContinuousClock.now
        let middle = start.advanced(by: .milliseconds(25))
        for _ in 0..<rounds(100) {
            var heap = DeadlineHeap()
            var deadlines: [SharedDeadline] = []
            for _ in 0..<random.below(200) {
                deadlines.append(SharedDeadline(start.advanced(by: .milliseconds(random.below(50)))) {})
            }
            for deadline in deadlines { heap.insert(deadline) }
            var left: [ContinuousClock.Instant] = []
            for deadline in deadlines {
                if random.below(3) > 0 {
                    left.append(deadline.end)
                } else {
                    heap.remove(deadline)
                    // The second time, it is not there.
                    heap.remove(deadline)
                }
            }
            let (early, late) = (left.filter { $0 <= middle }.sorted(), left.filter { $0 > middle }.sorted())
            let due = heap.removeAll(until: middle).map(\.end)
            #expect(due == early)
            #expect(heap.first?.end == late.first)
            let rest = heap.removeAll(until: start.advanced(by: .seconds(1))).map(\.end)
            #expect(rest == late)
            #expect(deadlines.allSatisfy { $0.place == nil })
        }
    }

    @Test("end many waits, each after its own time, and leave the waits whose time goes on")
    func many() async throws {
        let held = Collected<UnsettledDelivery<Ping>>()
        let subscription = publisher.subscribe(to: Ping.self, on: .queue(.global()), acknowledging: .manually) {
            held.add($0)
        }
        let lasting = Task { [publisher] in try await publisher.deliver(Ping(0), within: .seconds(3_600)) }
        await held.wait(for: 1)
        await withTaskGroup(of: Void.self) { group in
            for number in 1...300 {
                group.addTask { [publisher] in
                    // Often earlier than the ends of the waits that have begun.
                    let limit = Duration.milliseconds(1 + number * 7 % 50)
                    let begin = ContinuousClock.now
                    let error = await #expect(throws: DeliveryError.self) {
                        try await publisher.deliver(Ping(number), within: limit)
                    }
                    let time = begin.duration(to: ContinuousClock.now)
                    #expect(error?.code == .timedOut)
                    #expect(time >= limit)
                }
            }
        }
        for delivery in held.all { delivery.acknowledge() }
        let receipt = try await lasting.value
        #expect(receipt.handlers == ["host": 1])
        subscription.cancel()
    }

    @Test("end a wait once if its outcome comes at the same moment")
    func sameMoment() async {
        for _ in 0..<rounds(200) {
            let wait = DeliveryWait<Int>()
            let deadline = DeliveryDeadline(after: .milliseconds(1), by: ContinuousClock()) {
                wait.finish(.failure(TimeIsOver()))
            }
            #expect(wait.begin { true })
            let settling = Task.detached {
                try? await Task.sleep(for: .milliseconds(1))
                wait.finish(.success(1))
            }
            do {
                let value = try await wait.value(by: deadline)
                #expect(value == 1)
            } catch {
                #expect(error is TimeIsOver)
            }
            deadline.cancel()
            await settling.value
        }
    }

    @Test("end a wait that begins when its time is over, and play no part if the outcome is there at once")
    func atOnce() async throws {
        for isThere in [false, true] {
            let wait = DeliveryWait<Int>()
            let limit = isThere ? Duration.seconds(3_600) : .zero
            let deadline = DeliveryDeadline(after: limit, by: ContinuousClock()) {
                wait.finish(.failure(TimeIsOver()))
            }
            let hasBegun = wait.begin {
                if isThere { wait.finish(.success(1)) }
                return true
            }
            #expect(hasBegun)
            if isThere {
                let value = try await wait.value(by: deadline)
                #expect(value == 1)
                if case .shared(let entry) = deadline { #expect(entry.place == nil) }
            } else {
                await #expect(throws: TimeIsOver.self) { _ = try await wait.value(by: deadline) }
            }
            deadline.cancel()
        }
    }

    @Test("end a wait for a handler on the publishing thread, which goes on")
    func plainHandler() async {
        let mayReturn = Flag()
        let subscription = publisher.subscribe(to: Ping.self) { _ in waitUntil { mayReturn.isSet } }
        let error = await #expect(throws: DeliveryError.self) {
            try await publisher.deliver(Ping(1), within: .milliseconds(20))
        }
        mayReturn.set()
        #expect(error?.code == .timedOut)
        subscription.cancel()
    }

    @Test("keep nothing of a caller that was cancelled long before")
    func cancelled() async {
        let (barrier, began) = (Barrier(), Collected<Int>())
        weak var witness: EventPublisher?
        let subscription: Subscription
        do {
            let publisher = EventPublisher()
            witness = publisher
            subscription = publisher.subscribe(to: Ping.self) { (_: Ping) async in
                began.add(0)
                await barrier.pass()
            }
            let delivery = Task { try await publisher.deliver(Ping(1), within: .seconds(3_600)) }
            await began.wait(for: 1)
            delivery.cancel()
            await #expect(throws: CancellationError.self) { try await delivery.value }
        }
        while witness != nil { await Task.yield() }
        barrier.open()
        subscription.cancel()
    }
}

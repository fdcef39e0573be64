import DomainEvents
import DomainEventsFoundation
import Foundation
import TestSupport
import Testing

private struct ParcelCounted: DomainEvent { let number: Int }
private struct ParcelMarked: DomainEvent { let number: Int }

@Suite("An operation queue gets a publisher's events in order", .timeLimit(.minutes(5)))
struct OperationQueueDeliveryTests {
    private let publisher = EventPublisher()
    private let queue = OperationQueue()
    private let log = Collected<Int>()

    @Test func oneAtATimeAlsoWhenItIsConcurrent() {
        queue.maxConcurrentOperationCount = 8
        let running = Collected<Int>()
        let subscriptions = [
            publisher.subscribe(to: ParcelCounted.self, on: .operationQueue(queue)) { [log] in
                running.add(1)
                log.add($0.number)
                running.add(-1)
            },
            publisher.subscribe(to: ParcelMarked.self, on: .operationQueue(queue)) { [log] in
                running.add(1)
                log.add($0.number)
                running.add(-1)
            },
        ]
        for number in 0..<1_000 {
            if number.isMultiple(of: 3) {
                publisher.publish(ParcelMarked(number: number))
            } else {
                publisher.publish(ParcelCounted(number: number))
            }
        }
        queue.waitUntilAllOperationsAreFinished()
        #expect(log.all == Array(0..<1_000))
        #expect(running.all == (0..<1_000).flatMap { _ in [1, -1] })
        withExtendedLifetime(subscriptions) {}
    }

    @Test func asThePublishersOwnChoice() {
        let publisher = EventPublisher(deliveringOn: .operationQueue(queue))
        let queues = Collected<ObjectIdentifier?>()
        let subscription = publisher.subscribe(to: ParcelCounted.self) { _ in
            queues.add(OperationQueue.current.map(ObjectIdentifier.init))
        }
        publisher.publish(ParcelCounted(number: 1))
        queue.waitUntilAllOperationsAreFinished()
        #expect(queues.all == [ObjectIdentifier(queue)])
        withExtendedLifetime(subscription) {}
    }

    @Test func withoutThePublisherWaitingForASuspendedQueue() {
        queue.isSuspended = true
        let subscription = publisher.subscribe(to: ParcelCounted.self, on: .operationQueue(queue)) { [log] in
            log.add($0.number)
        }
        for number in 0..<10 { publisher.publish(ParcelCounted(number: number)) }
        #expect(log.all.isEmpty)
        queue.isSuspended = false
        queue.waitUntilAllOperationsAreFinished()
        #expect(log.all == Array(0..<10))
        withExtendedLifetime(subscription) {}
    }

    @Test func thoughItsOperationsAreCancelled() {
        queue.isSuspended = true
        let subscription = publisher.subscribe(to: ParcelCounted.self, on: .operationQueue(queue)) { [log] in
            log.add($0.number)
        }
        publisher.publish(ParcelCounted(number: 1))
        queue.cancelAllOperations()
        publisher.publish(ParcelCounted(number: 2))
        queue.isSuspended = false
        queue.waitUntilAllOperationsAreFinished()
        #expect(log.all == [1, 2])
        withExtendedLifetime(subscription) {}
    }

    @Test func untilTheSubscriptionEnds() {
        queue.isSuspended = true
        let subscription = publisher.subscribe(to: ParcelCounted.self, on: .operationQueue(queue)) { [log] in
            log.add($0.number)
        }
        publisher.publish(ParcelCounted(number: 1))
        subscription.cancel()
        queue.isSuspended = false
        queue.waitUntilAllOperationsAreFinished()
        #expect(log.all.isEmpty)
    }

    @Test func andAWaiterForTheHandlersHearsFromThem() async throws {
        let subscription = publisher.subscribe(to: ParcelCounted.self, on: .operationQueue(queue)) { [log] in
            log.add($0.number)
        }
        let receipt = try await publisher.deliver(ParcelCounted(number: 7), within: .seconds(30))
        #expect(receipt.handlers.values.reduce(0, +) == 1)
        #expect(log.all == [7])
        withExtendedLifetime(subscription) {}
    }
}

import Dispatch
import DomainEvents
import EventBridgeTesting
import Locks
import Testing

// The internal events of the sync subsystem, and the one event that others need.
private struct SyncChunkArrived: DomainEvent { let number: Int }
private struct SyncCompleted: DomainEvent, Equatable { let chunks: Int }

/// Does all its work on its own queue, and has its own publisher for that.
private final class SyncSubsystem: @unchecked Sendable {
    // Sendable: `arrived` is touched only on the publisher's queue.
    let publisher: EventPublisher
    private var arrived: [Int] = []
    private var subscriptions: Set<Subscription> = []

    init(queue: DispatchQueue, expected: Int, tellingOthersThrough application: EventPublisher) {
        publisher = EventPublisher(deliveringOn: .queue(queue))
        publisher.subscribe(to: SyncChunkArrived.self) { [weak self] event in
            dispatchPrecondition(condition: .onQueue(queue))
            guard let self else { return }
            arrived.append(event.number)
            if arrived.count == expected { publisher.publish(SyncCompleted(chunks: expected)) }
        }.store(in: &subscriptions)
        publisher.forward(SyncCompleted.self, to: application).store(in: &subscriptions)
    }
}

@Suite("Scenario: a subsystem has a publisher and a queue of its own", .timeLimit(.minutes(5)))
struct SubsystemScenario {
    private let application = EventPublisher()
    private let queue = DispatchQueue(label: "sync", attributes: .concurrent)

    @Test func itsWorkStaysThereAndItsOutcomeReachesTheApplication() async throws {
        let recorder = EventRecorder(application)
        let sync = SyncSubsystem(queue: queue, expected: 100, tellingOthersThrough: application)
        for number in 0..<100 { sync.publisher.publish(SyncChunkArrived(number: number)) }
        #expect(try await recorder.next(SyncCompleted.self) == SyncCompleted(chunks: 100))
        #expect(recorder.names == ["SyncCompleted"])
    }

    @Test func twoOfThemDoNotHearEachOther() async throws {
        let first = SyncSubsystem(queue: queue, expected: 1, tellingOthersThrough: application)
        let second = SyncSubsystem(queue: queue, expected: 1, tellingOthersThrough: application)
        let recorder = EventRecorder(second.publisher)
        let outcomes = EventRecorder(application)
        first.publisher.publish(SyncChunkArrived(number: 1))
        try await outcomes.next(SyncCompleted.self)
        #expect(recorder.all.isEmpty)
    }

    @Test func theOutcomeKeepsItsIdentityOnTheWay() async throws {
        let sync = SyncSubsystem(queue: queue, expected: 1, tellingOthersThrough: application)
        var there = application.deliveries(of: SyncCompleted.self).makeAsyncIterator()
        var here = sync.publisher.deliveries(of: SyncCompleted.self).makeAsyncIterator()
        sync.publisher.publish(SyncChunkArrived(number: 1))
        let (first, second) = (try await here.next()?.context, try await there.next()?.context)
        #expect(first != nil)
        #expect(first?.id == second?.id)
        #expect(first?.cause == second?.cause)
        #expect(first?.cause != nil)
    }

    @Test func whenItIsGoneTheApplicationGoesOn() {
        weak var gone: EventPublisher?
        do {
            let sync = SyncSubsystem(queue: queue, expected: 1, tellingOthersThrough: application)
            gone = sync.publisher
            withExtendedLifetime(sync) {}
        }
        #expect(gone == nil)
        application.publish(SyncCompleted(chunks: 0))
    }
}

import BridgePlatform
import BridgeTransport
import CBOR
import Dispatch
import DomainEvents
import EventBridge
import Supervision
import TestSupport
import Testing

@testable import EventBridgeTesting

/// One step of a chain: a cause or its effect, of one type, so that asynchronous handlers and sequences have an order
/// between them too.
private struct Step: DomainEvent, Equatable {
    static let cause = Step(name: "the cause")
    static let effect = Step(name: "the effect")

    let name: String
}

/// Makes a handler publish the cause.
private struct Begun: DomainEvent {}

/// A stream to a worker; the write that brings the cause does not return before the effect is seen.
private final class AnsweredStream: ByteStream {
    private let base: any ByteStream
    private let poller: Poller
    private let isSeen: Barrier

    init(_ base: any ByteStream, poller: Poller, isSeen: Barrier) {
        self.base = base
        self.poller = poller
        self.isSeen = isSeen
    }

    var memory: MemoryFile? { base.memory }
    var shelf: MemoryFile? { base.shelf }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome { base.read(into: buffer) }

    func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
        let bytes = Array(pieces.joined())
        let outcome = base.write(pieces)
        // The publishing thread writes an idle link. The poller must not wait.
        if bytes.contains(Array(Step.cause.name.utf8)), !poller.isCurrent { isSeen.wait() }
        return outcome
    }

    func whenWritable(_ body: @escaping @Sendable () -> Void) { base.whenWritable(body) }
    func finishWriting() { base.finishWriting() }
    func finishReading() { base.finishReading() }
    func close() { base.close() }
}

/// Starts workers of this process, one of them behind an ``AnsweredStream``.
private struct AnsweringLauncher: WorkerLauncher {
    let base: InMemoryLauncher
    let isSeen: Barrier

    func launch(
        _ order: LaunchOrder,
        completion: @escaping @Sendable (Result<LaunchedWorker, LaunchFailure>) -> Void
    ) {
        base.launch(order) { result in
            guard order.specification.name == "quick" else { return completion(result) }
            completion(
                result.map { worker in
                    let stream = AnsweredStream(worker.stream, poller: order.poller, isSeen: isSeen)
                    return LaunchedWorker(stream: stream, process: worker.process)
                }
            )
        }
    }

    func end(on poller: Poller) async { await base.end(on: poller) }
}

@Suite("A subscriber beside the publisher sees a cause before its effect, however quick the answer is", .serialized)
struct CauseBeforeEffectTests {
    /// Where the subscriber's handler runs.
    enum Line: String, CaseIterable, CustomTestStringConvertible {
        case queue = "on a queue"
        case task = "in a task"
        case sequence = "of a sequence"
        case linked = "on a queue of a linked publisher"

        var testDescription: String { rawValue }
    }

    /// How the cause is published.
    enum Way: String, CaseIterable, CustomTestStringConvertible {
        case publish, send, deliver, request, transaction
        case inHandler = "published by an inline handler"
        case onQueue = "published by a handler on a queue"
        case withoutType = "published without its type"
        case passedOn = "passed on from another worker"

        var testDescription: String { rawValue }
    }

    @Test(
        "N9: for every line, and every way to publish",
        .timeLimit(.minutes(5)),
        arguments: Line.allCases,
        Way.allCases
    )
    func causeFirst(line: Line, way: Way) async throws {
        let publisher = EventPublisher()
        let seen = Collected<Step>()
        let isSeen = Barrier()
        let (subscriptions, consumer) = subscribe(line, to: publisher) { step in
            seen.add(step)
            if step == .effect { isSeen.open() }
        }
        let workers = [
            InMemoryWorker("quick", subscribes: [Step.self]) { publisher in
                [publisher.subscribe(to: Step.self) { if $0 == .cause { publisher.publish(Step.effect) } }]
            },
            InMemoryWorker("first", subscribes: way == .passedOn ? [Begun.self] : []) { publisher in
                way == .passedOn ? [publisher.subscribe(to: Begun.self) { _ in publisher.publish(Step.cause) }] : []
            },
        ]
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: workers.map(\.specification),
            launcher: AnsweringLauncher(base: InMemoryLauncher(workers), isSeen: isSeen)
        )
        try await bridge.start()
        try await go(way, publisher, bridge)
        #expect(await seen.wait(for: 2) == [.cause, .effect])
        consumer?.cancel()
        await bridge.shutdown()
        withExtendedLifetime(subscriptions) {}
    }

    private func subscribe(
        _ line: Line,
        to publisher: EventPublisher,
        _ handler: @escaping @Sendable (Step) -> Void
    ) -> ([Subscription], consumer: Task<Void, Never>?) {
        let queue = DispatchQueue(label: "subscriber")
        switch line {
        case .queue: return ([publisher.subscribe(to: Step.self, on: .queue(queue), handler)], nil)
        case .task: return ([publisher.subscribe(to: Step.self) { (step: Step) async in handler(step) }], nil)
        case .sequence:
            let steps = publisher.eventsAndGaps(of: Step.self)
            let consumer = Task {
                for await case .event(let step) in steps { handler(step) }
            }
            return ([], consumer)
        case .linked:
            let other = EventPublisher()
            return (
                [
                    publisher.forward(Step.self, to: other),
                    other.subscribe(to: Step.self, on: .queue(queue)) { [other] step in
                        withExtendedLifetime(other) { handler(step) }
                    },
                ],
                nil
            )
        }
    }

    private func go(_ way: Way, _ publisher: EventPublisher, _ bridge: BridgeHost) async throws {
        let handlers = DispatchQueue(label: "handlers")
        switch way {
        case .publish: await onThreads(1) { _ in publisher.publish(Step.cause) }
        case .send: try await publisher.send(Step.cause)
        case .deliver: try await publisher.deliver(Step.cause, within: patience)
        case .request:
            let answer = try await publisher.request(Step.cause, awaiting: Step.self, within: patience)
            #expect(answer == .effect)
        case .transaction: await onThreads(1) { _ in publisher.transaction { publisher.publish(Step.cause) } }
        case .inHandler:
            let subscription = publisher.subscribe(to: Begun.self) { _ in publisher.publish(Step.cause) }
            await onThreads(1) { _ in publisher.publish(Begun()) }
            subscription.cancel()
        case .onQueue:
            let subscription = publisher.subscribe(to: Begun.self, on: .queue(handlers)) { _ in
                publisher.publish(Step.cause)
            }
            publisher.publish(Begun())
            await subscription.cancelAndWait(after: handlers)
        case .withoutType:
            let payload = try CBOREncoder().encode(Step.cause)
            await onThreads(1) { _ in
                let outcome = bridge.publish(name: Step.eventName, payload: payload)
                #expect(throws: Never.self) { try outcome.get() }
            }
        case .passedOn: publisher.publish(Begun())
        }
    }

    @Test("what is said of a dead letter comes behind the event", .timeLimit(.minutes(5)))
    func deadLetterBehindItsEvent() async throws {
        struct CannotBegin: Error {}
        let publisher = EventPublisher()
        let seen = Collected<String>()
        let queue = DispatchQueue(label: "subscriber")
        let subscriptions = [
            publisher.subscribe(to: Step.self, on: .queue(queue)) { seen.add($0.name) },
            publisher.subscribe(to: EventDeadLettered.self, on: .queue(queue)) { seen.add("a letter of \($0.event)") },
        ]
        let broken = InMemoryWorker(
            "broken",
            subscribes: [Step.self],
            backoff: .exponential(from: .milliseconds(1), to: .milliseconds(1))
        ) { _ in throw CannotBegin() }
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [broken.specification],
            launcher: InMemoryLauncher([broken])
        )
        await #expect(throws: BridgeError.self) { try await bridge.start() }
        publisher.publish(Step.cause)
        #expect(await seen.wait(for: 2) == ["the cause", "a letter of Step"])
        await bridge.shutdown()
        withExtendedLifetime(subscriptions) {}
    }
}

extension Subscription {
    /// Returns when the queue has handled everything that waits on it.
    fileprivate func cancelAndWait(after queue: DispatchQueue) async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        await cancelAndWait()
    }
}

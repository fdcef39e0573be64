import Dispatch
import Synchronization

/// Gives the events of all streams to the host, one after the other, in the order of their arrival.
final class HostFeed: Sendable {
    private struct State {
        var queue: FeedQueue
        /// Whether a task gives events, or will.
        var isGiving = false
        /// How many times events began to be given.
        var round = 0
        var task: Task<Void, Never>?
        /// Whether the host gets no more events.
        var isOver = false
    }

    /// After this many events in a row the feed's task leaves the thread on which it runs.
    private static let mostInARow = 64
    /// The time between two attempts while the host has no room.
    static let pause = Duration.milliseconds(100)

    /// Runs the feed's task where no giver does: after a wait, for example.
    let executor = QueueExecutor(label: "nats-gateway.feed")
    private let state: Mutex<State>
    private let publish: @Sendable (ImportedEvent) async -> Custody
    private let report: @Sendable (GatewayReport) -> Void

    /// - Parameters:
    ///   - places: the places that the host keeps, in the bookmarks of the events; nil if it keeps none.
    ///   - publish: gives an event to the host, and returns when the host has it or never will.
    ///   - report: is called from any thread.
    init(
        places: ImportPlaces?,
        publish: @escaping @Sendable (ImportedEvent) async -> Custody,
        report: @escaping @Sendable (GatewayReport) -> Void
    ) {
        state = Mutex(State(queue: FeedQueue(places: places)))
        self.publish = publish
        self.report = report
    }

    /// Whether the host gets no event from now on.
    var isOver: Bool { state.withLock(\.isOver) }

    private func giveAll() async {
        var count = 0
        while let next = next() {
            switch await give(next.event) {
            case .taken:
                state.withLock { $0.queue.take(next) }
                next.settled(nil)
            case .refused(let reason): next.settled(reason)
            // No later event may be taken before this one.
            case .ended: return stop()
            }
            count += 1
            if count.isMultiple(of: Self.mostInARow) { await Task.yield() }
        }
    }

    private func next() -> FeedQueue.Waiting? {
        state.withLock { state in
            let next = state.isOver ? nil : state.queue.next()
            if next == nil { (state.isGiving, state.task) = (false, nil) }
            return next
        }
    }

    /// What became of an event in the end.
    private enum Outcome {
        case taken
        case refused(String)
        case ended
    }

    /// Gives an event again and again until the host has room for it.
    private func give(_ event: ImportedEvent) async -> Outcome {
        var trouble: String?
        while true {
            switch await publish(event) {
            case .taken:
                if let trouble { report(.note("events of other nodes are taken again (\(trouble))")) }
                return .taken
            case .refused(let reason): return .refused(reason)
            case .notNow(let reason):
                if trouble == nil {
                    trouble = reason
                    report(.note("events of other nodes wait: \(reason)"))
                }
                do { try await Task.sleep(for: Self.pause) } catch { return .ended }
            case .ended: return .ended
            case .failed(let reason):
                report(reason)
                return .ended
            }
        }
    }

    /// Gives an event on this thread, if no other thread gives one; only from a thread that may wait.
    ///
    /// This thread then also gives the events of other streams that come meanwhile, but not without an end.
    ///
    /// - Parameter settled: is called once the host has the event, or will never take it; `refusal` then says why.
    func give(
        _ event: ImportedEvent,
        from place: ImportPlaces.Place,
        settled: @escaping @Sendable (_ refusal: String?) -> Void
    ) {
        put(.event(FeedQueue.Waiting(event: event, place: place, settled: settled)), isHere: true)
    }

    /// Notes that a node's stream is read on behind this place: the bookmarks of all later events have the place.
    ///
    /// Without the place, the next gateway would know none in a stream that has brought no event since this gateway's
    /// start, and would go by what the broker has been told. But the host may have lost some of those events.
    ///
    /// May be called on any thread, because the feed then runs on its queue. Otherwise this thread might have to give
    /// the events of all other streams, for as long as they come.
    ///
    /// - Parameter place: nil if the stream cannot be read now. Then the place stays as the host has named it.
    func begin(_ node: Node, behind place: ImportPlaces.Place?) { put(.begun(node, place), isHere: false) }

    /// Gives no event before ``begin(_:behind:)`` was called for each of these nodes, if the host keeps places.
    ///
    /// The places that the host has named are out of date, because another gateway has read on since: a bookmark with
    /// one of them would make the next gateway bring again what that gateway has brought.
    func awaitPlaces(in nodes: some Collection<Node>) { put(.awaited(Set(nodes)), isHere: false) }

    /// - Parameter isHere: whether this thread may give events, if no other thread does.
    private func put(_ item: FeedQueue.Item, isHere: Bool) {
        let round = state.withLock { state -> Int? in
            guard !state.isOver else { return nil }
            state.queue.append(item)
            guard !state.isGiving else { return nil }
            state.isGiving = true
            state.round += 1
            return state.round
        }
        guard let round else { return }
        let task = begin(isHere: isHere)
        let isOver = state.withLock { state in
            // The task may have ended already, and another one may have begun.
            if state.isGiving, state.round == round { state.task = task }
            return state.isOver
        }
        if isOver { task.cancel() }
    }

    private func begin(isHere: Bool) -> Task<Void, Never> {
        if isHere, #available(macOS 26, *) {
            return Task.immediate(executorPreference: executor) { await self.giveAll() }
        }
        return Task(executorPreference: executor) { await self.giveAll() }
    }

    /// Ends the feed; an event that is being given may still reach the host.
    func stop() {
        let (task, unused) = state.withLock { state in
            state.isOver = true
            defer { (state.task, state.queue) = (nil, FeedQueue(places: nil)) }
            return (state.task, state.queue)
        }
        task?.cancel()
        // The callers' closures are released outside the lock.
        withExtendedLifetime(unused) {}
    }
}

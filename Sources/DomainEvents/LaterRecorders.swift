/// The journals of this process that make events safe some time after recording them; some calls return only when the
/// events are safe.
struct LaterRecorders: Sendable {
    private var recorders: [any EventRecording] = []

    /// Makes a list without journals.
    init() {}

    /// The journals that record an event which is published to these destinations.
    ///
    /// A journal that begins to close afterwards gets no later events, but these recorders still include it.
    init(of destinations: Destinations) { self.init(among: destinations.all.flatMap { $0.subscribers.deferred }) }

    /// The journals among an event's subscribers in strands.
    init(among subscribers: [DeferredSubscriber]) { add(subscribers.compactMap(\.laterRecorder)) }

    /// Adds the journals that are in another list.
    mutating func add(_ others: LaterRecorders) { add(others.recorders) }

    private mutating func add(_ others: [any EventRecording]) {
        for recorder in others where !recorders.contains(where: { $0 === recorder }) { recorders.append(recorder) }
    }

    /// Returns when the events that were recorded so far are as safe as the journals promise; at once if there are no
    /// such journals.
    ///
    /// A cancellation does not end this wait: what was published stays published.
    /// - Throws: The error of a journal that cannot make them safe.
    func untilSafe() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            whenSafe { error in
                if let error { continuation.resume(throwing: error) } else { continuation.resume() }
            }
        }
    }

    /// Calls `body` when the events that were recorded so far are safe, or cannot become safe: at once, or on the
    /// thread of a journal.
    func whenSafe(_ body: @escaping @Sendable ((any Error)?) -> Void) { Self.whenSafe(recorders[...], body) }

    private static func whenSafe(
        _ recorders: ArraySlice<any EventRecording>,
        _ body: @escaping @Sendable ((any Error)?) -> Void
    ) {
        guard let recorder = recorders.first else { return body(nil) }
        recorder.whenSafe { error in
            if let error { body(error) } else { whenSafe(recorders.dropFirst(), body) }
        }
    }
}

public import DomainEvents

/// What a worker's code can say about its own readiness, through the publisher that it was given.
///
/// Outside a worker, as in a program of one process or in a test, no host waits to hear it, and nothing happens.
extension EventPublisher {
    /// Keeps this worker from counting as ready, though its body returns or calls `serve()`, until the hold is
    /// released.
    ///
    /// For what comes up in the background. Until then it gets no events, and the start of its bridge waits for it, at
    /// the most for the handshake timeout of its specification: see ``needsMoreTime(_:because:)``.
    ///
    /// ```swift
    /// await BridgeWorker.main { publisher in
    ///     let hold = publisher.holdReadiness(because: "it reads its index")
    ///     index.load { hold.release() }
    ///     return [publisher.subscribe(to: IndexQueried.self) { index.answer($0) }]
    /// }
    /// ```
    ///
    /// - Parameter reason: what the worker is at, as a clause; the supervisor says it where the worker does not become
    ///   ready in time.
    public func holdReadiness(because reason: String) -> ReadinessHold {
        guard let session = WorkerSession.of(self) else { return ReadinessHold {} }
        session.readinessWasHeld(because: reason)
        return ReadinessHold { session.readinessWasReleased() }
    }

    /// Asks the supervisor for time: this worker will have become ready, or finished what it has when it is stopped, at
    /// the latest in so much time from now.
    ///
    /// It never shortens the time that there is. While a start or a stop takes longer than that, say it again. Said
    /// while the worker is ready it counts for a stop that comes meanwhile. It does not lengthen the deadline of a
    /// handler.
    ///
    /// - Parameters:
    ///   - time: from now on; nothing happens if it is not more than 0.
    ///   - reason: what the worker is at, as a clause; empty for nothing new.
    public func needsMoreTime(_ time: Duration, because reason: String = "") {
        guard time > .zero else { return }
        WorkerSession.of(self)?.askForTime(time, because: reason)
    }
}

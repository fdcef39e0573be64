public import DomainEvents

/// What a worker's code can say about its own readiness, through the publisher that it was given.
///
/// Outside a worker, as in a program of one process or in a test, no host waits for it, and nothing happens.
extension EventPublisher {
    /// Keeps this worker from counting as ready until the hold is released, though its body returns or calls `serve()`.
    ///
    /// This is for what comes up in the background. Until the release the worker gets no events, and the start of its
    /// bridge waits for it. It waits no longer than the handshake timeout of its specification: see
    /// ``needsMoreTime(_:because:)``.
    ///
    /// ```swift
    /// await BridgeWorker.main { publisher in
    ///     let hold = publisher.holdReadiness(because: "it reads its index")
    ///     index.load { hold.release() }
    ///     return [publisher.subscribe(to: IndexQueried.self) { index.answer($0) }]
    /// }
    /// ```
    ///
    /// - Parameter reason: what the worker is at, as a clause; the supervisor repeats it if the worker does not become
    ///   ready in time.
    public func holdReadiness(because reason: String) -> ReadinessHold {
        guard let session = WorkerSession.of(self) else { return ReadinessHold {} }
        session.readinessWasHeld(because: reason)
        return ReadinessHold { session.readinessWasReleased() }
    }

    /// Asks the supervisor for time: this worker will be ready, or have finished what it has for a stop, within `time`
    /// from now.
    ///
    /// It never shortens the time that there is. If a start or a stop takes longer than that, call it again. A call
    /// while the worker is ready counts for a stop that comes meanwhile. It does not lengthen the deadline of a
    /// handler.
    ///
    /// - Parameters:
    ///   - time: counts from now; nothing happens if it is not more than 0.
    ///   - reason: what the worker is at, as a clause; empty for nothing new.
    public func needsMoreTime(_ time: Duration, because reason: String = "") {
        guard time > .zero else { return }
        WorkerSession.of(self)?.askForTime(time, because: reason)
    }
}

public import DomainEvents

/// What a worker's code can tell the host about its readiness, through the publisher that it was given.
///
/// Outside a worker, as in a program of one process or in a test, no host waits, and these calls do nothing.
extension EventPublisher {
    /// Keeps this worker from counting as ready until the hold ends, even if its body returns or calls `serve()`.
    ///
    /// Use a hold for parts that start in the background. Until the release the worker gets no events, and the start of
    /// its bridge waits for the worker. The worker has to be ready within the handshake timeout of its specification;
    /// ``needsMoreTime(_:because:)`` extends that time.
    ///
    /// ```swift
    /// await BridgeWorker.main { publisher in
    ///     let hold = publisher.holdReadiness(because: "it reads its index")
    ///     index.load { hold.release() }
    ///     return [publisher.subscribe(to: IndexQueried.self) { index.answer($0) }]
    /// }
    /// ```
    ///
    /// - Parameter reason: what the worker is doing, as a clause; the supervisor repeats it if the worker does not
    ///   become ready in time.
    public func holdReadiness(because reason: String) -> ReadinessHold {
        guard let session = WorkerSession.of(self) else { return ReadinessHold {} }
        session.readinessWasHeld(because: reason)
        return ReadinessHold { session.readinessWasReleased() }
    }

    /// Asks the supervisor for time: within `time` from now this worker will be ready or, if it is being stopped, will
    /// have finished.
    ///
    /// A call never shortens the time that is left, and never lengthens a handler's deadline. If a start or a stop
    /// takes longer than `time`, call this again. A call by a ready worker counts for a stop that begins within `time`.
    ///
    /// - Parameters:
    ///   - time: the time, from now; if it is not above 0, nothing happens.
    ///   - reason: what the worker is doing, as a clause; empty to keep the last reason.
    public func needsMoreTime(_ time: Duration, because reason: String = "") {
        guard time > .zero else { return }
        WorkerSession.of(self)?.askForTime(time, because: reason)
    }
}

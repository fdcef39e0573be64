/// Declares that a child runs only while there is something for it to do.
///
/// Such a child does not start with its supervisor. It starts on request, or when an event comes for it; the event
/// waits until the child has started. The supervisor stops the child when it has had nothing to do for a time. That
/// saves the memory of a child that is rarely used, but the first event has to wait for a start. The restart type
/// matters in one way only: a temporary child may not be on demand, because it would never come back.
public struct OnDemand: Hashable, Sendable {
    /// How long the child is idle before the supervisor stops it.
    public var idleTime: Duration

    /// Declares a child on demand.
    ///
    /// - Parameter idleTime: how long the child is idle before the supervisor stops it; 60 s by default. With this
    ///   default, a child that a person at work uses again and again keeps running; a child that is used once an hour
    ///   takes no memory in between.
    public init(idleTime: Duration = .seconds(60)) {
        self.idleTime = idleTime
    }

    /// Finds every mistake, each as a sentence; empty if there is none.
    public func validate() -> [String] {
        idleTime.mistakes(as: "the idle time", mayBeZero: false)
    }
}

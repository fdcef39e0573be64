/// Declares that a child runs only while there is something for it to do.
///
/// It is not started with its supervisor but when something comes for it, which waits for it meanwhile, and is stopped
/// when it has had nothing to do for a time. That saves the memory of what is rarely wanted, at the price of a start
/// for the first who wants it. Of its restart type only this matters: a temporary child may not be on demand, as it
/// would never come back.
public struct OnDemand: Hashable, Sendable {
    /// How long the child has to have had nothing to do until it is stopped.
    public var idleTime: Duration

    /// Declares a child on demand.
    ///
    /// - Parameter idleTime: the time until it is stopped; 60 s by default, so that what comes in the rhythm of a
    ///   person at work finds it running, and what comes once an hour does not pay for it in between.
    public init(idleTime: Duration = .seconds(60)) {
        self.idleTime = idleTime
    }

    /// Finds every mistake, each as a sentence; empty if there is none.
    public func validate() -> [String] {
        idleTime.mistakes(as: "the idle time", mayBeZero: false)
    }
}

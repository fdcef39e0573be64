public import DomainEvents

extension EventPublisher {
    /// A publisher that takes every event and delivers none, for tests of code that publishes on the side.
    ///
    /// A subscriber gets a subscription and never an event. A recorder for this publisher records all the same;
    /// together they are the mock that ``EventRecorder/init()`` makes.
    public static func null() -> EventPublisher { EventPublisher(origin: "host", isMuted: true) }
}

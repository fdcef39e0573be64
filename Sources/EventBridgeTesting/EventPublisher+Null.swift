public import DomainEvents

extension EventPublisher {
    /// A publisher that takes every event and delivers none, for tests of code that publishes on the side.
    ///
    /// A subscriber gets a subscription and never an event. A recorder still records what is published here;
    /// ``EventRecorder/init()`` makes such a publisher and its recorder, as a mock.
    public static func null() -> EventPublisher { EventPublisher(origin: "host", isMuted: true) }
}

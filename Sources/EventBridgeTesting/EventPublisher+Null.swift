public import DomainEvents

extension EventPublisher {
    /// A publisher that takes every event and delivers none, for tests of code that publishes besides its main work.
    ///
    /// A subscriber gets a subscription, but never an event. A recorder still records what is published here:
    /// ``EventRecorder/init()`` makes a mock from a null publisher and a recorder.
    public static func null() -> EventPublisher { EventPublisher(origin: "host", isMuted: true) }
}

public import DomainEvents

extension EventPublisher {
    /// A publisher that takes every event and delivers none, for tests of code that publishes besides its main work.
    ///
    /// Code that subscribes gets a subscription, but never an event. Recorders alone get what is published:
    /// ``EventRecorder/init()`` makes a mock from a null publisher and a recorder.
    public static func null() -> EventPublisher { EventPublisher(origin: "host", isMuted: true) }
}

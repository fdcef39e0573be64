public import DomainEvents

extension EventPublisher {
    /// A publisher that takes everything and delivers nothing, for tests of code that publishes on the side.
    ///
    /// Who subscribes gets a subscription and never an event. A recorder made for it records all the same; together
    /// they are the mock that ``EventRecorder/init()`` makes.
    public static func null() -> EventPublisher { EventPublisher(origin: "host", isMuted: true) }
}

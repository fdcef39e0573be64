import DomainEvents

/// The event that is measured.
struct Measured: DomainEvent {
    let number: Int
    /// When it was published, in nanoseconds of the clock that both hosts share.
    let published: UInt64
}

/// What one subscriber needs of an event besides the event itself, made before the subscriber's lock is taken.
enum EventPreparation {
    case nothing
    /// The key by which a younger event replaces an older event.
    case key(AnyHashable)
    /// The event's payload, for a journal.
    case encoded(EncodedEvent)
}

/// What all subscribers of one event need of it.
enum EventPreparations {
    case nothing
    /// What the only subscriber needs.
    case only(EventPreparation)
    case each([EventPreparation])

    /// What the subscriber with this index needs.
    subscript(index: Int) -> EventPreparation {
        switch self {
        case .nothing: .nothing
        case .only(let preparation): preparation
        case .each(let preparations): preparations[index]
        }
    }
}

public import DomainEvents

extension JournalRecord {
    /// The event, decoded as a type; nil if the record has neither the type's name nor a former one.
    ///
    /// Use this to read several types in the journal's order. Each call makes a new decoder.
    ///
    /// ```swift
    /// for try await case .event(let record) in journal.records(after: position) {
    ///     if let shelved = try record.event(as: BoxShelved.self) { print(shelved.shelf) }
    /// }
    /// ```
    /// - Parameters:
    ///   - type: the type of the event.
    ///   - upcasters: the former names of the type's older events, and how to read older forms of these events.
    /// - Throws: ``JournalError`` with the code `undecodable` if the record does not become an event of the type.
    public func event<E: DomainEvent>(
        as type: E.Type,
        upcasting upcasters: [JournalUpcaster] = []
    ) throws(JournalError) -> E? {
        guard EntryDecoder<E>.names(upcasters).contains(EventName(name)) else { return nil }
        let decoder = EntryDecoder<E>(upcasters)
        do {
            return try payload.withUnsafeBytes { try decoder.event(named: name, $0) }
        } catch {
            throw JournalError(.undecodable, "\(decoder.gap(at: position, named: name, error))")
        }
    }
}

public import DomainEvents

extension JournalRecord {
    /// The event as a type; nil if the record lies under another name.
    ///
    /// This is for a reader of several types, in the journal's order. Each call prepares a decoder:
    ///
    /// ```swift
    /// for try await case .event(let record) in journal.records(after: position) {
    ///     if let shelved = try record.event(as: BoxShelved.self) { print(shelved.shelf) }
    /// }
    /// ```
    /// - Parameters:
    ///   - type: the type of the event.
    ///   - upcasters: under which former names the events of the type lie, and how to read older forms.
    /// - Throws: ``JournalError`` with the code `undecodable` if the record does not become an event of the type.
    public func event<E: DomainEvent>(
        as type: E.Type,
        upcasting upcasters: [JournalUpcaster] = []
    ) throws(JournalError) -> E? {
        guard EntryDecoder<E>.names(upcasters).contains(name) else { return nil }
        switch EntryDecoder<E>(upcasters).step(self) {
        case .event(let entry): return entry.event
        case .gap(let gap): throw JournalError(.undecodable, "\(gap)")
        }
    }
}

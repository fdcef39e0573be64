/// Publishes events of other machines, which a gateway imports.
///
/// Such an event keeps the identity, the time, the cause and the place in a trace that it had on its own machine, so a
/// handler recognizes a repeat. Otherwise each call is like the one for untyped events. Events of one origin arrive in
/// the order in which they are imported.
///
/// A worker may import only if its specification says so (`mayImport`); an attached client may never import. Without
/// that right these calls throw a ``DeliveryError`` with the code `mayNotImport`, and publish nothing.
extension EventPublisher {
    /// Whether this publisher may import events.
    public var mayImport: Bool { importRight.isGranted }

    /// Takes away the right to import; called if the host accepts no events of other machines from this process.
    package func withdrawImportRight() { importRight.withdraw() }

    /// Publishes an event of another machine; otherwise like ``publish(_:)-(UntypedEvent)``.
    ///
    /// - Parameters:
    ///   - imported: the event, with its identity.
    ///   - bookmark: see ``publish(_:bookmark:)-(UntypedEvent,_)``.
    public func publish(importing imported: ImportedEvent, bookmark: EventBookmark? = nil) throws(DeliveryError) {
        let (event, context, channel) = try importing(imported, bookmark)
        publish(event, to: channel, context)
    }

    /// Waits for room, then publishes an event of another machine; otherwise like ``send(_:)-(UntypedEvent)``.
    ///
    /// If a worker and its host share memory for the worker's outbox, the event outlives the worker once this call,
    /// outside a transaction, has returned in the worker: the host has the event or finds it in the outbox. Without
    /// shared memory, an event that has not left ends with the worker.
    ///
    /// - Parameters:
    ///   - imported: the event, with its identity.
    ///   - bookmark: see ``send(_:bookmark:)-(UntypedEvent,_)``.
    public func send(importing imported: ImportedEvent, bookmark: EventBookmark? = nil) async throws {
        let (event, context, channel) = try importing(imported, bookmark)
        if try sendInTransaction(event, to: channel, as: context) != nil { return }
        _ = try await sendWhenRoom(event, to: channel, as: context)
    }

    private func importing(
        _ imported: ImportedEvent,
        _ bookmark: EventBookmark?
    ) throws(DeliveryError) -> (UntypedEvent, EventContext, EventChannel<UntypedEvent>) {
        let event = imported.event
        guard mayImport else {
            throw DeliveryError(
                .mayNotImport,
                of: event.name,
                id: imported.context.id,
                """
                \(event.name) of \(imported.context.id.origin) was not imported: this process may not import events \
                of other machines; a worker may if its specification says `mayImport`
                """
            )
        }
        let channel = try untypedChannel(named: event.name)
        guard let bookmark else { return (event, importRight.adopt(imported.context), channel) }
        let own = try own(bookmark, of: event.name)
        return (event, importRight.adopt(imported.context, bookmark: own), channel)
    }
}

package import DomainEvents

/// What a crash of the receiver means for the events that it had.
extension Outbox {
    /// The receiver crashed before it finished these events.
    ///
    /// Events that are settled by now are left out. If the outbox has an event twice, because its importer was killed
    /// or an operator replayed it, the receiver had the older copy.
    package mutating func receiverCrashed(suspects: [EventID], because reason: String) -> Probation.Finding {
        var wanted = Set(suspects)
        var found: [UInt64] = []
        if !wanted.isEmpty {
            forEachUnsettled { record in
                if wanted.remove(EventID(source: record.source, number: record.number)) != nil {
                    found.append(record.sequence)
                }
            }
        }
        return probation.crashed(suspects: found, because: reason)
    }
}

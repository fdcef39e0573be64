package import DomainEvents

/// What a crash of the receiver means for the events that it had.
extension Outbox {
    /// The receiver crashed before it finished these events.
    ///
    /// Events that are settled by now are left out.
    package mutating func receiverCrashed(suspects: [EventID], because reason: String) -> Probation.Finding {
        let wanted = Set(suspects)
        var found: [UInt64] = []
        if !wanted.isEmpty {
            forEachUnsettled { record in
                if wanted.contains(EventID(source: record.source, number: record.number)) {
                    found.append(record.sequence)
                }
            }
        }
        return probation.crashed(suspects: found, because: reason)
    }
}

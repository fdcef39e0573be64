package import BridgePlatform
package import BridgeProtocol
package import DomainEvents
import Locks

/// The outbox of a worker that was killed together with its host, in a file that has outlived both.
///
/// Its bytes are as untrusted as those of a dead worker's outbox in memory, and are read in the same way. The former
/// host's stream is gone, and the outbox does not say which events that host had received.
package struct LeftOutbox: Sendable {
    private let memory: MemoryFile
    fileprivate let state: OutboxState

    /// Reads the head page; nil if nothing was published into the memory, if no chunk is in use any more, or if the
    /// worker kept its outbox elsewhere.
    ///
    /// - Throws: Why the page cannot be read. What the page says is checked only by ``forEach(_:_:)``.
    package init?(_ memory: MemoryFile) throws(SystemError) {
        var page = [UInt64](repeating: 0, count: OutboxLayout.headBytes / 8)
        let count = try page.withUnsafeMutableBytes { bytes in
            Result { () throws(SystemError) in try memory.read(at: 0, into: bytes) }
        }.get()
        guard let state = OutboxState(page: Array(page.prefix(count / 8))), state.accepted > 0, state.firstChunk != 0
        else { return nil }
        (self.memory, self.state) = (memory, state)
    }

    /// Whether the worker had seen all its events settled: then no event of this outbox is to be recovered.
    package var isSettled: Bool { state.isSettled }

    /// The event up to which the worker had seen all events settled; 0 if it does not say.
    ///
    /// ``forEach(_:_:)`` refuses a number that cannot be true.
    fileprivate var settled: UInt64 { state.settled.clamped(to: .max) }

    /// Visits the records, oldest first: those that the worker had not seen settled, and perhaps some before them.
    fileprivate func forEach(
        _ limits: LinkLimits,
        _ body: (UInt64, OutboxRecovery.Record) throws -> Void
    ) throws {
        var recovery = OutboxRecovery(memory, state: state, limits: limits)
        var isFirst = true
        do {
            try recovery.forEach(after: nil) { sequence, record in
                isFirst = false
                try body(sequence, record)
            }
        } catch let damage as OutboxDamage {
            // A worker with an empty outbox writes its next frame over the oldest one. If it was killed during that
            // write, all that it had accepted was settled, so nothing is damaged.
            guard isFirst, state.isTorn, state.settled <= state.accepted else { throw damage }
        }
    }
}

extension Link {
    /// Brings to the sink those events of a left outbox that the former host had not recorded, and the gaps among and
    /// behind them, in their order.
    ///
    /// The link was made for this, with the former host as its own source, and is never started. A host records the
    /// events of a link in the order of their sequences, except for events that it could not record when they came. So
    /// the former host had received all events up to the newest one that has a record. The events after that one had no
    /// effect as a rule. But the former host may have handled an event without recording it, so each event comes with
    /// an attempt of 2 or more. Events that the worker had seen settled do not come.
    ///
    /// For this an event counts only if its record can be told from others. A record that has the identity of an
    /// imported event may be of an earlier import. So an imported event counts only if it has a bookmark, and if no
    /// other import in the outbox has the same identity and bookmark. The imported events behind the last one that
    /// counts come again.
    ///
    /// - Parameters:
    ///   - peer: the worker's former start.
    ///   - mayHaveRecord: whether the former host may have recorded events of the name that a frame spells or gives by
    ///     number. An error ends the search in front of the event.
    ///   - recordedName: returns the name that a frame spells or gives by number; nil if events of it are not recorded.
    ///     Such events and their gaps are left out: nothing says whether they had an effect. An error ends the recovery
    ///     in front of the event or gap.
    ///   - newestRecord: finds the newest of the events, given in their order, that has a record. It gets the events
    ///     that may have a record and that count, and is called only if one of them is unsettled.
    package func recover(
        _ left: LeftOutbox,
        of peer: EventSource,
        to sink: any LinkEventSink,
        mayHaveRecord: (WireName) throws -> Bool,
        recordedName: (WireName) throws -> String?,
        newestRecord: ([EventContext]) throws -> RecordIdentity?
    ) -> RecoveredOutbox {
        lock.withLock {
            parties.established(own: nil, peer: peer, ownIncarnation: parties.own.incarnation)
            sinks.events = sink
        }
        // Handlers of these events run on the calling thread.
        strand.close()
        var found = RecoveredOutbox()
        found.isTorn = left.state.isTorn
        let settled = left.settled
        var events: [EventContext] = []
        var sequences: [RecordIdentity: UInt64] = [:]
        var ambiguous: Set<RecordIdentity> = []
        do {
            try left.forEach(limits) { sequence, record in
                guard case .event(let head, _) = record else { return }
                // Settled events count as well: `newestRecord` may stop at the record of one, and the journal may have
                // removed older records. The name of a settled event need not be known.
                let has: Bool? = try sequence > settled ? mayHaveRecord(head.name) : (try? mayHaveRecord(head.name))
                guard has == true, let context = parties.received(head), let identity = RecordIdentity(context)
                else { return }
                events.append(context)
                if sequences.updateValue(sequence, forKey: identity) != nil { ambiguous.insert(identity) }
            }
        } catch {
            // The events before the damage are recovered all the same.
            found.damage = String(describing: error)
        }
        if !ambiguous.isEmpty { events.removeAll { RecordIdentity($0).map(ambiguous.contains) ?? true } }
        let newest = events.last.flatMap(RecordIdentity.init).flatMap { sequences[$0] } ?? 0
        do {
            let last = try newest > settled ? newestRecord(events) : nil
            let received = max(settled, last.flatMap { sequences[$0] } ?? 0)
            try left.forEach(limits) { sequence, record in
                guard sequence > received else { return }
                switch record {
                case .event(var head, let payload):
                    guard let name = try recordedName(head.name) else { return }
                    // This event may be a repeat, and every repeat has to be marked.
                    head.attempt = UntrustedNumber(UInt64(head.attempt.clamped(to: 1...Int(UInt32.max))) + 1)
                    // The publisher that waited for a receipt is gone, and this host has numbers of its own for the
                    // names.
                    (head.name, head.wantsReceipt, head.isReplay) = (.text(name), false, false)
                    guard let context = parties.received(head) else { return }
                    lock.withLock { receiving.wasRecovered(sequence) }
                    let disposition = try withUnsafePointer(to: context) { context in
                        var run = EventRun(
                            of: head,
                            sequence: sequence,
                            context: context,
                            payload: payload,
                            strand: strand
                        )
                        return try sink.link(self, received: &run)
                    }
                    found.events += 1
                    if case .refused(.forbidden, _) = disposition { found.forbidden += 1 }
                case .gap(let gap):
                    guard let name = try recordedName(gap.name) else { return }
                    let named = GapFrame(
                        sequence: sequence,
                        name: .text(name),
                        count: gap.count.asWritten,
                        reason: gap.reason,
                        ranges: gap.ranges
                    )
                    lock.withLock { receiving.wasRecovered(sequence) }
                    try sink.link(self, received: named)
                }
            }
        } catch {
            found.damage = found.damage ?? String(describing: error)
        }
        lock.withLock {
            sinks.events = nil
            // This comes last: for a link that was read to its end, the sink would wait for room at the workers, which
            // are not started yet. From now on nothing is queued for the peer that is gone, and the link's timer ends.
            ending.streamWasReadToEnd()
        }
        return found
    }
}

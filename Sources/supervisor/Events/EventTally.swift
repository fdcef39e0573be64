import BridgeProtocol
import CBOR
import DomainEvents
import EventRouting
import Locks

/// Counts the events that pass, by name.
final class EventTally: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// How many names have an entry; events with further names are counted only in total.
    static let mostNames = 4_096
    /// How many publishers are kept for each name.
    static let mostPublishers = 100
    /// The largest payload that is kept, in bytes; the last payload of each name is kept for its fields.
    static let mostPayloadBytes = 4_096
    static let mostFields = 32

    struct Entry: Sendable {
        var count: UInt64 = 0
        var bytes: UInt64 = 0
        var publishers: Set<String> = []
        fileprivate(set) var payload: [UInt8] = []

        /// The keys of the last payload in their order; empty for a payload that has no keys or is too large.
        var fields: [String] {
            let limits = CBORLimits(maximumItems: EventTally.mostPayloadBytes)
            let value = payload.withUnsafeBytes { try? CBORValue(decoding: $0, limits: limits) }
            guard case .map(let entries)? = value else { return [] }
            return entries.prefix(EventTally.mostFields).compactMap { entry in
                if case .text(let key) = entry.key { key } else { nil }
            }
        }
    }

    private let lock = Lock()
    private var entries: [EventName: Entry] = [:]
    /// The number of events with names beyond ``mostNames``, and the number of events that never arrived.
    private var others: (left: UInt64, missed: UInt64) = (0, 0)

    var counted: [EventName: Entry] { lock.withLock { entries } }

    /// The number of events that are not counted by name.
    var left: UInt64 { lock.withLock { others.left } }

    /// The number of events that are missing because they came faster than they were read.
    var missed: UInt64 { lock.withLock { others.missed } }

    @Sendable
    func take(_ event: PassingEvent) {
        let origin = event.context.id.origin
        let publisher = origin == event.sender ? TextFormatter.input : origin
        let payload = event.payload.count <= Self.mostPayloadBytes ? Array(event.payload) : []
        note(event.name) { entry, _ in
            entry.count += 1
            entry.bytes += UInt64(event.payload.count)
            entry.payload = payload
            if entry.publishers.count < Self.mostPublishers { entry.publishers.insert(publisher) }
        } otherwise: {
            $0.left += 1
        }
    }

    /// Counts the missing events of a gap, up to a bound, because a supervisor may claim any number.
    @Sendable
    func take(_ gap: Gap) {
        let count = min(gap.count.asWritten, 1 << 32)
        note(gap.name) { entry, others in
            others.missed += count
            entry.count += count
        } otherwise: {
            $0.missed += count
            $0.left += count
        }
    }

    private func note(
        _ name: String,
        _ body: (inout Entry, inout (left: UInt64, missed: UInt64)) -> Void,
        otherwise: (inout (left: UInt64, missed: UInt64)) -> Void
    ) {
        let name = EventName(name)
        guard !WorkerReporter.reports.contains(name) else { return }
        lock.withLock {
            guard entries[name] != nil || entries.count < Self.mostNames else { return otherwise(&others) }
            body(&entries[name, default: Entry()], &others)
        }
    }
}

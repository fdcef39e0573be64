import DomainEvents
import Locks

/// What this life of a party has handled, in the order in which its handlers were called.
package final class HandledLedger: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// What a handler throws when it was told to.
    package struct Refused: Error, CustomStringConvertible {
        package var description: String { "refused on purpose" }
    }

    private let folder: String
    private let party: Party
    private let ordinal: UInt64
    private let lock = Lock()
    private var number: UInt64 = 1
    private var segment: HandledSegment

    package init(in folder: String, party: Party, ordinal: UInt64) throws {
        self.folder = folder
        self.party = party
        self.ordinal = ordinal
        segment = try HandledSegment.create(at: folder + "/" + LedgerName.handled(party, ordinal, 1))
    }

    /// Writes down that a handler has begun, runs `work`, and writes down how it ended.
    package func handle(_ payload: ChaosPayload, _ work: () -> Void) throws {
        let token = try begin(payload)
        work()
        try end(token, payload)
    }

    /// The same for a handler that waits.
    package func handle(_ payload: ChaosPayload, _ work: () async -> Void) async throws {
        let token = try begin(payload)
        await work()
        try end(token, payload)
    }

    private typealias Token = (segment: HandledSegment, index: Int, isIntact: Bool)

    private func begin(_ payload: ChaosPayload) throws -> Token {
        let context = EventContext.current
        let record = HandledRecord(
            incarnation: payload.incarnation,
            number: payload.number,
            stream: payload.stream,
            attempt: UInt32(clamping: context?.attempt ?? 0),
            handling: .begun
        )
        let place = try lock.withLock { () throws -> (HandledSegment, Int) in
            if segment.count == HandledSegment.capacity {
                number += 1
                segment = try HandledSegment.create(at: folder + "/" + LedgerName.handled(party, ordinal, number))
            }
            return (segment, segment.append(record))
        }
        return (place.0, place.1, payload.isIntact && context?.id.incarnation == payload.incarnation)
    }

    private func end(_ token: Token, _ payload: ChaosPayload) throws {
        token.segment.finish(token.index, token.isIntact ? (payload.isRefused ? .threw : .returned) : .damaged)
        if payload.isRefused { throw Refused() }
    }
}

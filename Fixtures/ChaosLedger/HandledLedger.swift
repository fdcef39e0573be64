import DomainEvents
import Locks

/// What this life of a party has handled, in the order in which its handlers were called.
///
/// The ledger is made with the first record, so a replacement that starts beside the old process has no ledger before
/// its first event.
package final class HandledLedger: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// The error that a handler throws when it was told to throw.
    package struct Refused: Error, CustomStringConvertible {
        package var description: String { "refused on purpose" }
    }

    private let folder: String
    private let party: Party
    private let lane: Int
    private let board: Board
    private let lock = Lock()
    private var ordinal: UInt64 = 0
    private var number: UInt64 = 0
    private var segment: HandledSegment?

    /// - Parameter name: the worker's name, or `host`.
    package init(in folder: String, name: String, board: Board) throws {
        guard let party = Party(name: name) else { throw LedgerError("\(name) takes no part in a run") }
        self.folder = folder
        self.party = party
        lane = Party.lane(ofName: name)
        self.board = board
    }

    /// Writes down that a handler has begun, runs `work`, and writes down how it ended.
    package func handle(_ payload: ChaosPayload, _ work: () -> Void) throws {
        let token = try begin(payload, EventContext.current)
        work()
        try end(token, payload)
    }

    /// The same for an asynchronous handler.
    package func handle(_ payload: ChaosPayload, _ work: () async -> Void) async throws {
        let token = try begin(payload, EventContext.current)
        await work()
        try end(token, payload)
    }

    /// Writes down an event that came without a handler.
    ///
    /// - Parameter incarnation: the incarnation in the event's identity.
    package func note(_ payload: ChaosPayload, attempt: Int, incarnation: UInt64?) throws {
        let isIntact = payload.isIntact && payload.isOf(incarnation: incarnation)
        _ = try append(record(payload, attempt, isIntact ? .returned : .damaged))
    }

    /// Writes down that an event for this receiver was given up.
    package func noteDeadLetter(_ payload: ChaosPayload, receiver: Party) throws {
        _ = try append(record(payload, 0, .deadLettered, receiver: receiver))
    }

    /// Writes down that events of a stream are missing at this place.
    package func noteGap(_ count: Int, of stream: ChaosStream, incarnation: UInt64) throws {
        _ = try append(
            HandledRecord(
                incarnation: incarnation,
                number: UInt64(clamping: count),
                stream: stream.rawValue,
                attempt: 0,
                handling: .gap,
                receiver: party
            )
        )
    }

    private typealias Token = (segment: HandledSegment, index: Int, isIntact: Bool)

    private func begin(_ payload: ChaosPayload, _ context: EventContext?) throws -> Token {
        let place = try append(record(payload, context?.attempt ?? 0, .begun))
        return (place.0, place.1, payload.isIntact && payload.isOf(incarnation: context?.id.incarnation))
    }

    private func record(
        _ payload: ChaosPayload,
        _ attempt: Int,
        _ handling: Handling,
        receiver: Party? = nil
    ) -> HandledRecord {
        HandledRecord(
            incarnation: payload.incarnation,
            number: payload.number,
            stream: payload.stream,
            attempt: UInt32(clamping: attempt),
            handling: handling,
            receiver: receiver ?? party,
            isLarge: payload.isLarge
        )
    }

    private func append(_ record: HandledRecord) throws -> (HandledSegment, Int) {
        try lock.withLock {
            if ordinal == 0 { ordinal = board.takeOrdinal() }
            if let segment, segment.count < HandledSegment.capacity { return (segment, segment.append(record)) }
            number += 1
            let next = try HandledSegment.create(at: folder + "/" + LedgerName.handled(party, lane, ordinal, number))
            segment = next
            return (next, next.append(record))
        }
    }

    private func end(_ token: Token, _ payload: ChaosPayload) throws {
        token.segment.finish(token.index, token.isIntact ? (payload.isRefused ? .threw : .returned) : .damaged)
        if payload.isRefused { throw Refused() }
    }
}

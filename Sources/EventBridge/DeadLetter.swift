import BridgeProtocol
public import DomainEvents
import EventRouting

/// An event that was given up for one process: the process refused it, crashed over it, or could not get it, for
/// example because the process itself had been given up or removed.
public struct DeadLetter: Sendable, Hashable, Identifiable {
    /// The letter's number; no other letter of its bridge has it.
    public let id: UInt64

    /// The name of the event.
    public let event: String

    /// The identity of the event.
    public let eventID: EventID

    /// The process that the event was for: a worker, or `host` for handlers on the bridge's own publisher.
    public let worker: String

    /// What led to the dead letter.
    public let cause: EventDeadLettered.Cause

    /// The reasons in words: one for each crash over the event, oldest first, and then any further remarks.
    public let reasons: [String]

    /// How often the event was delivered to the process.
    public let attempts: Int

    /// How many crashes, hanging handlers and broken protocols of the process were blamed on the event.
    public let strikes: Int

    /// When the event was given up, in nanoseconds since 1970-01-01 00:00 UTC.
    public let nanosecondsSinceEpoch: UInt64

    /// The length of the event in its encoded form, in bytes.
    public let payloadBytes: Int

    /// The event in its encoded form, one CBOR item.
    package let payload: [UInt8]

    init(_ record: DeadLetterRecord) {
        id = record.number
        event = record.event.name
        eventID = record.event.context.id
        worker = record.receiver
        cause = record.cause
        reasons = record.reasons
        attempts = record.event.attempts
        strikes = record.event.strikes.count
        nanosecondsSinceEpoch = record.nanosecondsSinceEpoch
        payloadBytes = record.event.payload.count
        payload = record.event.payload
    }
}

extension BridgeHost {
    /// The events that were given up and are kept, oldest first.
    ///
    /// The letters are gone when the host ends, except workers' letters about events that a journal of the publisher
    /// records: the next host with the journal has these letters.
    public var deadLetters: [DeadLetter] { core.deadLetters.letters.map { DeadLetter($0) } }

    /// Offers the event of a dead letter again, to the process that it was for and to no other.
    ///
    /// The event keeps its identity and comes after the events that are already published. Its count of attempts goes
    /// on; its count of crashes begins anew. Once the event is accepted, the letter is gone.
    ///
    /// - Returns: Whether there was a letter of this number.
    /// - Throws: `DeliveryError` if the event is not taken, for example by a stopped worker; then the letter is kept.
    @discardableResult
    public func redeliver(_ id: DeadLetter.ID) throws -> Bool { try core.router.redeliver(id) != nil }

    /// Offers the events of all dead letters of a worker again, oldest first; `host` stands for the bridge's own
    /// handlers.
    ///
    /// - Returns: How many events were offered again.
    /// - Throws: `DeliveryError` at the first event that is not taken; its letter and the later letters are kept.
    @discardableResult
    public func redeliverDeadLetters(of worker: String) throws -> Int {
        var count = 0
        for letter in core.deadLetters.letters where letter.receiver == worker {
            if try core.router.redeliver(letter.number) != nil { count += 1 }
        }
        return count
    }

    /// Throws a dead letter away.
    ///
    /// - Returns: Whether there was a letter of this number.
    @discardableResult
    public func discardDeadLetter(_ id: DeadLetter.ID) -> Bool { core.deadLetters.discard(id) != nil }
}

package import DomainEvents
import Supervision

/// One stream of events: makes the events, and writes into the ledger before and after it publishes each event.
///
/// A sender belongs to one thread or task.
package struct ChaosSender {
    private let stream: ChaosStream
    private let publisher: EventPublisher
    private let ledger: SentLedger
    private var random: SplitMix64
    /// The number of the newest event.
    package private(set) var number: UInt64 = 0

    package init(_ stream: ChaosStream, _ publisher: EventPublisher, _ ledger: SentLedger, seed: UInt64) {
        self.stream = stream
        self.publisher = publisher
        self.ledger = ledger
        random = SplitMix64(seed: seed ^ UInt64(stream.rawValue) &* 0x9E37_79B9_7F4A_7C15)
    }

    /// Publishes with `send`, which waits for room.
    ///
    /// - Returns: Whether the event was accepted; false if a worker that wants it is down for good. Then no process
    ///   gets the event, and the next event gets the same number.
    package mutating func send<E: ChaosEvent>(
        _ type: E.Type,
        _ mischief: HandlerMischief = .none
    ) async throws -> Bool {
        let event = E(payload: next(mischief))
        ledger.setOffered(number, stream)
        do {
            _ = try await publisher.send(event)
        } catch let error as DeliveryError where error.code == .workerUnavailable {
            number -= 1
            return false
        }
        ledger.setAccepted(number, stream)
        return true
    }

    /// Publishes without waiting for room, as handlers and threads have to.
    package mutating func publish<E: ChaosEvent>(_ type: E.Type, _ mischief: HandlerMischief = .none) {
        let event = E(payload: next(mischief))
        ledger.setOffered(number, stream)
        publisher.publish(event)
        ledger.setAccepted(number, stream)
    }

    /// Publishes an event, and waits until it is handled, at most for `limit`.
    package mutating func deliver<E: ChaosEvent>(
        _ type: E.Type,
        _ mischief: HandlerMischief,
        within limit: Duration
    ) async {
        let event = E(payload: next(mischief))
        await wait { _ = try await publisher.deliver(event, within: limit) }
    }

    /// Publishes an event, and waits until it is answered, at most for `limit`.
    package mutating func request<E: ChaosEvent, A: ChaosEvent>(
        _ type: E.Type,
        awaiting answer: A.Type,
        _ mischief: HandlerMischief,
        within limit: Duration
    ) async {
        let event = E(payload: next(mischief))
        await wait { _ = try await publisher.request(event, awaiting: answer, within: limit) }
    }

    private func wait(_ body: () async throws -> Void) async {
        ledger.setOffered(number, stream)
        do {
            try await body()
        } catch let error as DeliveryError where error.code == .refused {
            ledger.addTold(number, stream)
        } catch {
            // The event may not have been published, or may be handled later: no report says which.
            ledger.addDoubtful(number, stream)
        }
        ledger.setAccepted(number, stream)
    }

    private mutating func next(_ mischief: HandlerMischief) -> ChaosPayload {
        number += 1
        var isRefused = mischief == .refuses
        var delay: UInt32 = 0
        if case .takes(let microseconds) = mischief { delay = microseconds }
        let dice = random.next()
        // Now and then a handler throws or is slow although the driver has not ordered it.
        if dice & 0x1FF == 0 { isRefused = true }
        if dice >> 9 & 0x3FF == 0 { delay = UInt32(dice >> 20 & 0x3FF) }
        return ChaosPayload(
            stream: stream,
            incarnation: publisher.source.incarnation,
            number: number,
            isRefused: isRefused,
            delay: delay,
            fillerBytes: fillerBytes(dice >> 32)
        )
    }

    /// The bytes of a filler: mostly below 64, rarely up to 65,535; 1 in 128 of a mixed stream are 32,768 or more.
    private func fillerBytes(_ dice: UInt64) -> Int {
        if stream.size == .page { return 1_024 }
        if stream.size == .mixed, dice & 0x7F == 0x7F { return 32_768 + Int(dice >> 12 & 0x7FFF) }
        return switch dice & 0xFFF {
        case 0: Int(dice >> 12 & 0xFFFF)
        case 1...40: Int(dice >> 12 & 0xFFF)
        default: Int(dice >> 12 & 0x3F)
        }
    }
}

/// What the handler of an event is told to do wrong.
package enum HandlerMischief: Sendable, Hashable {
    case none
    case refuses
    case takes(microseconds: UInt32)
}

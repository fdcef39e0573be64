import BridgePlatform
import DomainEvents
import Locks

struct Asked: DomainEvent, Codable {
    let number: Int
}

struct Answered: DomainEvent, Codable {
    let number: Int
}

struct Measured: DomainEvent, Codable {
    let number: Int
}

struct Filled: DomainEvent, Codable {
    let number: Int
    let filling: [UInt8]
}

/// An event of a chosen size.
struct BulkSent: DomainEvent, Codable {
    let number: Int
    let load: String

    init(_ number: Int, bytes: Int) {
        self.number = number
        // `String(repeating:count:)` appends one by one, which took a fifth of the scenarios' time.
        load = String(decoding: repeatElement(UInt8(ascii: "x"), count: bytes), as: UTF8.self)
    }
}

/// An event that holds its publisher up while it is encoded: after the router has looked up the receivers, and before
/// they get the event.
struct Drafted: DomainEvent, Codable {
    let number: Int
    /// How long the encoding takes, in the world's time.
    let microseconds: Int

    init(_ number: Int, microseconds: Int) {
        self.number = number
        self.microseconds = microseconds
    }

    func encode(to encoder: any Encoder) throws {
        let lock = Lock()
        let condition = Condition(lock: lock)
        let end = MonotonicClock.now() + UInt64(microseconds) * 1_000
        lock.withLock { while condition.wait(untilNanoseconds: end) {} }
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(number, forKey: .number)
        try values.encode(microseconds, forKey: .microseconds)
    }
}

import DomainEvents

/// How events travel.
enum Journey: String, CaseIterable {
    /// As many as the worker can publish, one way.
    case flood
    /// One at a time, there and back: both ends wait, each event is written at once.
    case trips
    /// From the publisher to a subscriber of the same process, without a bridge.
    case local
    /// To bytes and back, without a publisher.
    case codec
}

/// What crosses the link: a number and 16 characters, one more than Swift keeps inline.
struct PathTravelled: DomainEvent {
    let id: Int64
    let title: String
}

/// The answer to a trip.
struct PathReturned: DomainEvent {
    let id: Int64
    let title: String
}

/// Asks the worker for so many events, from a number on.
struct TravelBegun: DomainEvent {
    let first: Int64
    let count: Int64
}

/// The titles that go with the numbers.
enum PathTitle {
    private static let all = (0..<16).map { "event-title-00" + ($0 < 10 ? "0" : "") + "\($0)" }

    static func of(_ id: Int64) -> String { all[Int(id & 15)] }
}

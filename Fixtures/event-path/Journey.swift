import DomainEvents

/// The way that events take.
enum Journey: String, CaseIterable {
    /// As many as the worker can publish, one way.
    case flood
    /// The same with events that have a layout.
    case laidOutFlood = "flood-layout"
    /// The same with a journal of the host, which records the events.
    case recordedFlood = "flood-recorded"
    /// One at a time, there and back: both ends wait, each event is written at once.
    case trips
    /// The same with a journal of the host, which records the events of both directions.
    case recordedTrips = "trips-recorded"
    /// As many as the worker can publish, to another worker: they pass through the host, which handles none.
    case relay
    /// As many as the host can publish, to eight workers.
    case fanOut = "fan-out"
    /// From the publisher to a subscriber of the same process, without a bridge.
    case local
    /// The same with a journal, which records the events.
    case recordedLocal = "local-recorded"
    /// What a journal does for a round trip, without the trip.
    case records
    /// To bytes and back, without a publisher.
    case codec
}

/// The way of events through a bridge.
enum Way {
    /// From a worker to the host.
    case oneWay
    /// From the host to a worker and back; each event waits until the one before has been answered.
    case thereAndBack
    /// From a worker to another worker.
    case relayed
    /// From the host to eight workers.
    case toMany

    var receivers: Int { if case .toMany = self { 8 } else { 1 } }
}

/// An event that crosses the link: a number and 16 characters, one more than Swift keeps inline.
protocol PathEvent: DomainEvent {
    var id: Int64 { get }
    var title: String { get }

    init(id: Int64, title: String)
}

struct PathTravelled: PathEvent {
    let id: Int64
    let title: String
}

/// The same event, written and read by its layout.
struct PathLaidOut: PathEvent, LaidOutEvent {
    let id: Int64
    let title: String

    static let layout = EventLayout(Self.init(id:title:), .field("id", \.id), .field("title", \.title))
}

/// The answer to a trip.
struct PathReturned: DomainEvent {
    let id: Int64
    let title: String
}

/// Asks the worker to send `count` events, numbered from `first` on.
struct TravelBegun: DomainEvent {
    let first: Int64
    let count: Int64
}

/// The titles that go with the numbers.
enum PathTitle {
    private static let all = (0..<16).map { "event-title-00" + ($0 < 10 ? "0" : "") + "\($0)" }

    static func of(_ id: Int64) -> String { all[Int(id & 15)] }
}

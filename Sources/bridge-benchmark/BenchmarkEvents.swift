import DomainEvents
import FoundationEssentials

/// The events that most works of the benchmark send: a number, and the title for that number.
protocol TitledEvent: DomainEvent {
    var id: Int64 { get }
    var title: String { get }

    init(id: Int64, title: String)
}

extension TitledEvent {
    /// The event with this number.
    @inline(__always)
    init(_ id: Int64) {
        self.init(id: id, title: Title.of(id))
    }

    /// Ends the program if the title is not the number's title.
    @inline(__always)
    func checkTitle() {
        if title != Title.of(id) { Report.fail("event \(id) has the title \(title)") }
    }
}

/// The small event that each system in the comparison sends: a number and 16 characters, one more than Swift stores
/// inside a `String` without an allocation.
struct BenchmarkEvent: TitledEvent {
    let id: Int64
    let title: String
}

/// The reply of a round trip.
struct BenchmarkReply: TitledEvent {
    let id: Int64
    let title: String
}

/// The small event again, written and read by its layout.
struct BenchmarkLaidOutEvent: TitledEvent, LaidOutEvent {
    let id: Int64
    let title: String

    static let layout = EventLayout(Self.init(id:title:), .field("id", \.id), .field("title", \.title))
}

/// The reply of a round trip, written and read by its layout.
struct BenchmarkLaidOutReply: TitledEvent, LaidOutEvent {
    let id: Int64
    let title: String

    static let layout = EventLayout(Self.init(id:title:), .field("id", \.id), .field("title", \.title))
}

/// An event with a large blob, whose first and last eight bytes are the event's number.
struct BenchmarkBlob: DomainEvent {
    let id: Int64
    let title: String
    let blob: Data
}

/// The request to a worker to begin sending.
struct BenchmarkStarted: DomainEvent {
    let count: Int64
    let blobBytes: Int
}

/// A worker's report after it has checked all events: when the first and the last one arrived, in nanoseconds of the
/// clock that all processes of the machine share.
struct BenchmarkReceived: DomainEvent {
    let first: UInt64
    let last: UInt64
}

/// How much memory a worker has in RAM just after its start.
struct BenchmarkResident: DomainEvent {
    let bytes: Int
}

/// The request to a worker to stop itself by SIGSTOP.
struct BenchmarkStopped: DomainEvent {}

/// An event for a worker that has stopped or is slow, or for the older segments of a journal.
struct BenchmarkLoad: DomainEvent {
    let id: Int64
    let filler: Data
}

/// An event that idle workers wait for and no process publishes.
struct BenchmarkAwaited: DomainEvent {}

/// The titles of the numbers.
enum Title {
    private static let all = (0..<16).map { "event-title-00" + ($0 < 10 ? "0" : "") + "\($0)" }

    static func of(_ id: Int64) -> String { all[Int(truncatingIfNeeded: id) & 15] }
}

/// The event's number in the first and the last eight bytes of a blob.
enum Stamp {
    static func set(_ id: Int64, in blob: inout Data) {
        blob.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: id, as: Int64.self)
            bytes.storeBytes(of: id, toByteOffset: bytes.count - 8, as: Int64.self)
        }
    }

    static func isRight(_ blob: Data, id: Int64) -> Bool {
        blob.withUnsafeBytes { bytes in
            bytes.loadUnaligned(as: Int64.self) == id
                && bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: Int64.self) == id
        }
    }
}

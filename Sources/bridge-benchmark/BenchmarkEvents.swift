import DomainEvents
import FoundationEssentials

/// The small event that all peers exchange: a number and 16 characters, one more than Swift keeps inline.
struct BenchmarkEvent: DomainEvent {
    let id: Int64
    let title: String
}

/// The reply of a round trip.
struct BenchmarkReply: DomainEvent {
    let id: Int64
    let title: String
}

/// An event with a payload of 64 KiB or 1 MiB that carries its number in its first and last eight bytes.
struct BenchmarkBlob: DomainEvent {
    let id: Int64
    let title: String
    let blob: Data
}

/// Tells the worker to send.
struct BenchmarkStarted: DomainEvent {
    let count: Int64
    let blobBytes: Int
}

/// Tells the worker to stop, as SIGSTOP does.
struct BenchmarkStopped: DomainEvent {}

/// What is published to a worker that has stopped.
struct BenchmarkLoad: DomainEvent {
    let id: Int64
    let filler: Data
}

/// The titles that go with the numbers.
enum Title {
    private static let all = (0..<16).map { "event-title-00" + ($0 < 10 ? "0" : "") + "\($0)" }

    static func of(_ id: Int64) -> String { all[Int(truncatingIfNeeded: id) & 15] }
}

/// The stamps in a blob.
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

import BridgePlatform
import DomainEvents
import Locks

@testable import Journal

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The directory of a test's journal, removed with the test.
final class ScratchJournal: Sendable {
    private let directory: PrivateDirectory
    let path: String

    init() throws {
        directory = try PrivateDirectory.make(named: "journal-tests")
        path = "\(directory.path)/journal"
    }

    deinit {
        for directory in ["\(path)/outboxes", path] {
            if let inside = try? StorageDirectory(at: directory, makes: false) {
                for name in (try? inside.names()) ?? [] { try? inside.remove(name) }
            }
            rmdir(directory)
        }
        directory.remove()
    }

    func open(
        _ durability: JournalDurability = .process,
        retention: JournalRetention = .everything,
        segmentBytes: Int = 64 << 10
    ) throws -> EventJournal {
        try EventJournal(at: path, durability: durability, retention: retention, segmentBytes: segmentBytes)
    }

    func setPermissions(_ permissions: mode_t) throws {
        try SystemError.check("setting permissions") { chmod(path, permissions) }
    }

    var files: StorageDirectory { get throws { try StorageDirectory(at: path, makes: true) } }

    var segments: [String] { get throws { try files.names().filter { $0.hasSuffix(".segment") } } }

    func bytes(of name: String) throws -> [UInt8] {
        let file = try files.open(name)
        var bytes = [UInt8](repeating: 0, count: try file.byteCount())
        _ = try bytes.withUnsafeMutableBytes { try file.read(at: 0, into: $0) }
        return bytes
    }

    /// A copy of the directory at this moment, as a process would find it that is started now.
    func copied() throws -> ScratchJournal {
        let copy = try ScratchJournal()
        let target = try copy.files
        for name in try segments {
            let bytes = try bytes(of: name)
            try bytes.withUnsafeBytes { try target.create(name).write($0, at: 0) }
        }
        return copy
    }

    /// Makes a file of so many zeros, which take no room on the disk.
    func makeSparse(_ name: String, _ length: Int) throws {
        _ = try files.create(name)
        try cut(name, to: length)
    }

    func cut(_ name: String, to length: Int) throws {
        try SystemError.check("setting the length of a file") { truncate("\(path)/\(name)", off_t(length)) }
    }

    func overwrite(_ name: String, at offset: Int, with bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { try files.open(name, forWriting: true).write($0, at: offset) }
    }
}

struct Counted: DomainEvent, Hashable {
    var number: Int
    var text = ""
}

struct Colored: DomainEvent, Hashable {
    var color: String
}

extension EventJournal {
    var isOpen: Bool { core.lock.withLock { if case .open = core.state.phase { true } else { false } } }

    /// Returns when the next segment is made, and the journal's thread has nothing more to do by itself.
    func waitForSpare() async {
        while core.lock.withLock({ core.spare == nil }) { await Task.yield() }
    }

    /// The numbers of all events that are there, and how many events are reported missing.
    func numbers(after position: UInt64 = 0, follows: Bool = false) async throws -> (found: [Int], missing: UInt64) {
        var found: [Int] = []
        var missing: UInt64 = 0
        for try await step in events(of: Counted.self, after: position, follows: follows) {
            switch step {
            case .event(let entry): found.append(entry.event.number)
            case .gap(let gap): missing += gap.count
            }
        }
        return (found, missing)
    }
}

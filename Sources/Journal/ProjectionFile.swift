import BridgePlatform
import CBOR
import DomainEvents
import JournalFormat
import Locks

/// The file of a projection: the state and its position, replaced together.
///
/// The file begins with 16 bytes: `evproje1`, the version 1 and the CRC-32C of the rest, numbers with the lowest byte
/// first. The rest is a map in CBOR.
final class ProjectionFile: Sendable {
    private let path: String
    private let name: String
    private let storage: any JournalStorage
    /// Keeps other projections, of any process, from using the file.
    private let lock: HeldLock

    /// What the file says about its state.
    struct Head: Codable {
        let projection: String
        let revision: Int
        /// The identity of the journal.
        let journal: UInt64
        /// Every event up to this position is in the state.
        let position: UInt64
        /// The event at the position, whatever its name; if it could not be read, the last event before it.
        let last: RecordMark?
    }

    struct Content<State: Projection> {
        let head: Head
        let state: State
    }

    private struct Encoded<State: Encodable>: Encodable {
        let head: Head
        let state: State

        enum CodingKeys: CodingKey { case head, state }
    }

    private struct DecodedHead: Decodable { let head: Head }

    private struct DecodedState<State: Decodable>: Decodable { let state: State }

    private static let mark = Array("evproje1".utf8)
    private static let version: UInt32 = 1
    private static let headBytes = 16
    private static let mostBytes = 1 << 30
    private static let limits = CBORLimits(maximumDepth: CBORLimits.greatestDepth, maximumItems: 1 << 30)

    /// Opens the directory of the file, and locks the file's name for this object.
    convenience init(at path: String) throws(JournalError) {
        let slash = path.lastIndex(of: "/")
        let name = String(slash.map { path[path.index(after: $0)...] } ?? path[...])
        guard !name.isEmpty else {
            throw JournalError(.system, "the projection \(path): expected the path of a file")
        }
        let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let lock: LockFile
        let isLocked: Bool
        let directory: StorageDirectory
        do throws(SystemError) {
            directory = try StorageDirectory(at: parent, makes: false)
            lock = try directory.openLock("\(name).lock")
            isLocked = try lock.tryLock()
            if isLocked { try lock.sign() }
        } catch {
            throw Self.error(error, path)
        }
        guard isLocked else {
            let holder = lock.signer().map { "process \($0)" } ?? "another process"
            throw JournalError(.inUse, "the projection \(path): \(holder) has it open")
        }
        self.init(DirectoryStorage(directory), name: name, path: path, lock: lock)
    }

    init(_ storage: any JournalStorage, name: String, path: String, lock: LockFile?) {
        self.storage = storage
        self.name = name
        self.path = path
        self.lock = HeldLock(lock)
    }

    // MARK: - Reading

    /// The saved state; nil if there is no file, or the state is of an earlier revision.
    func read<State: Projection>(_ type: State.Type, journal: UInt64) throws(JournalError) -> Content<State>? {
        guard let bytes = try bytes() else { return nil }
        let content = bytes[Self.headBytes...]
        let head: Head
        do {
            head = try content.withUnsafeBytes { try decoder.decode(DecodedHead.self, from: $0) }.head
        } catch {
            throw damaged("its description of the state cannot be read: \(CBORError.sentence(of: error))")
        }
        guard head.projection == State.projectionName else {
            throw foreign("it has a state of \(head.projection), expected one of \(State.projectionName)")
        }
        guard head.journal == journal else { throw foreign("it has a state that follows from another journal") }
        guard head.revision <= State.revision else {
            throw damaged("it is of revision \(head.revision); this program knows \(State.revision) and earlier ones")
        }
        guard head.revision == State.revision else { return nil }
        do {
            let state = try content.withUnsafeBytes { try decoder.decode(DecodedState<State>.self, from: $0) }.state
            return Content(head: head, state: state)
        } catch {
            throw damaged("its state does not decode, at the same revision: \(CBORError.sentence(of: error))")
        }
    }

    private var decoder: CBORDecoder { CBORDecoder(limits: Self.limits) }

    /// The bytes of the file, checked; nil if there is no file.
    private func bytes() throws(JournalError) -> [UInt8]? {
        let bytes: [UInt8]
        do throws(SystemError) {
            let file = try storage.open(name, forWriting: false)
            // No saved file has more than `mostBytes`: a longer file is cut here, so its checksum is wrong.
            let buffer = UnsafeMutableRawBufferPointer.allocate(
                byteCount: min(try file.byteCount(), Self.mostBytes),
                alignment: 8
            )
            defer { buffer.deallocate() }
            let found = try file.read(at: 0, into: buffer)
            bytes = Array(buffer[..<found])
        } catch {
            if error.isMissingFile { return nil }
            throw Self.error(error, path)
        }
        guard bytes.count >= Self.headBytes, bytes.starts(with: Self.mark) else {
            throw foreign("it is not the file of a projection")
        }
        let (version, checksum) = bytes.withUnsafeBytes {
            (
                UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt32.self)),
                UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
            )
        }
        guard version == Self.version else {
            throw damaged("it is of version \(version) of the format; this program knows version \(Self.version)")
        }
        guard bytes[Self.headBytes...].withUnsafeBytes({ Checksum.crc32c($0) }) == checksum else {
            throw damaged("it is damaged or cut: its checksum is wrong")
        }
        return bytes
    }

    // MARK: - Writing

    /// The bytes of a file with this state.
    func encoded<State: Projection>(_ content: Content<State>) throws(JournalError) -> [UInt8] {
        let body: [UInt8]
        do {
            body = try CBOREncoder(limits: Self.limits).encode(Encoded(head: content.head, state: content.state))
        } catch {
            throw JournalError(
                .notRecordable,
                "the projection \(path) is not saved, as its state cannot be encoded: \(CBORError.sentence(of: error))"
            )
        }
        guard body.count <= Self.mostBytes - Self.headBytes else {
            throw JournalError(.notRecordable, "the projection \(path) is not saved, as its file would exceed 1 GiB")
        }
        let checksum = body.withUnsafeBytes { Checksum.crc32c($0) }
        let numbers = [Self.version, checksum].flatMap { withUnsafeBytes(of: $0.littleEndian, Array.init) }
        return Self.mark + numbers + body
    }

    /// Replaces the file; returns when the new one is safe on the disk.
    func replace(with bytes: [UInt8]) throws(JournalError) {
        let unfinished = "\(name).unfinished"
        do throws(SystemError) {
            // A killed process may have left the unfinished file.
            try storage.remove(unfinished)
            let file = try storage.create(unfinished)
            try bytes.withUnsafeBytes { all in
                Result { () throws(SystemError) in try file.write(all, at: 0) }
            }.get()
            try file.synchronize()
            try storage.rename(unfinished, to: name)
            try storage.synchronize()
        } catch {
            // The journal and the next attempt need the room that the unfinished file takes.
            try? storage.remove(unfinished)
            throw Self.error(error, path)
        }
    }

    /// Lets other projections use the file.
    func close() { lock.release() }

    // MARK: - Errors

    /// An error about the file's content; it tells the user to delete the file, so that the state is built again.
    private func damaged(_ what: String) -> JournalError { error(.damaged, what) }

    private func foreign(_ what: String) -> JournalError { error(.foreign, what) }

    func error(_ code: JournalError.Code, _ what: String) -> JournalError {
        JournalError(
            code,
            "the projection \(path) cannot be used (delete the file to build the state from the journal again): \(what)"
        )
    }

    private static func error(_ error: SystemError, _ path: String) -> JournalError {
        JournalError(error.isFullDisk ? .full : .system, "the projection \(path): \(error)")
    }
}

/// A lock that may be released before its owner.
private final class HeldLock: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var file: LockFile?

    init(_ file: LockFile?) { self.file = file }

    func release() {
        let held = lock.withLock {
            defer { file = nil }
            return file
        }
        withExtendedLifetime(held) {}
    }
}

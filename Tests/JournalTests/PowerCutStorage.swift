import BridgePlatform
import Locks

@testable import Journal

/// A disk that remembers what was synchronized, and can show the state that a power cut leaves.
///
/// A seed decides for every other sector whether it is there, because a disk writes in any order.
final class PowerCutStorage: JournalStorage, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let directory: StorageDirectory
    private let lock = Lock()
    private var files: [String: PowerCutFile] = [:]
    private var durableFiles: [String: PowerCutFile] = [:]

    private static let sector = 512

    init(at path: String) throws {
        directory = try StorageDirectory(at: path, makes: true)
    }

    var writesInPlace: Bool { true }

    func names() throws(SystemError) -> [String] { try directory.names() }

    func open(_ name: String, forWriting: Bool) throws(SystemError) -> any JournalFile {
        try directory.open(name, forWriting: forWriting)
    }

    func create(_ name: String) throws(SystemError) -> any JournalFile {
        let file = PowerCutFile(try directory.create(name))
        lock.withLock { files[name] = file }
        return file
    }

    func rename(_ name: String, to other: String) throws(SystemError) {
        try directory.rename(name, to: other)
        lock.withLock { files[other] = files.removeValue(forKey: name) }
    }

    func remove(_ name: String) throws(SystemError) {
        try directory.remove(name)
        lock.withLock { _ = files.removeValue(forKey: name) }
    }

    func synchronize() throws(SystemError) {
        lock.withLock { durableFiles = files }
        try directory.synchronize()
    }

    /// Writes the files that a power cut at this moment would leave.
    func leave(in target: StorageDirectory, seed: UInt64) throws {
        let files = lock.withLock { durableFiles }
        var generator = SplitMix(state: seed)
        for (name, file) in files.sorted(by: { $0.key < $1.key }) {
            let durable = file.durable
            var bytes = try file.bytes()
            for begin in stride(from: 0, to: bytes.count, by: Self.sector) where generator.next() % 2 == 0 {
                for index in begin..<min(begin + Self.sector, bytes.count) {
                    bytes[index] = index < durable.count ? durable[index] : 0
                }
            }
            try bytes.withUnsafeBytes { try target.create(name).write($0, at: 0) }
        }
    }

    private struct SplitMix {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }
    }
}

private final class PowerCutFile: JournalFile, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let file: StorageFile
    private let lock = Lock()
    private var synchronized: [UInt8] = []

    init(_ file: StorageFile) {
        self.file = file
    }

    var durable: [UInt8] { lock.withLock { synchronized } }

    func bytes() throws(SystemError) -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: try file.byteCount(), alignment: 8)
        defer { buffer.deallocate() }
        let count = try file.read(at: 0, into: buffer)
        return Array(buffer[..<count])
    }

    func synchronize() throws(SystemError) {
        // Later stores may be left out.
        let bytes = try bytes()
        try file.synchronize()
        lock.withLock { synchronized = bytes }
    }

    func byteCount() throws(SystemError) -> Int { try file.byteCount() }

    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        try file.read(at: offset, into: buffer)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
        try file.write(bytes, at: offset)
    }

    func fillWithZeros(_ byteCount: Int) throws(SystemError) { try file.fillWithZeros(byteCount) }

    func truncate(to byteCount: Int) throws(SystemError) { try file.truncate(to: byteCount) }

    func map(_ byteCount: Int) throws(SystemError) -> MemoryMapping { try file.map(byteCount) }
}

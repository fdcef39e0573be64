import BridgePlatform
import Locks

@testable import Journal

/// A directory in which another process writes during the reading: earlier reads give older data than later reads.
final class StaleStorage: JournalStorage, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let directory: StorageDirectory
    private let lock = Lock()
    private var hole: Range<Int>?
    private var olderByteCount: Int?

    init(at path: String) throws {
        directory = try StorageDirectory(at: path, makes: false)
    }

    var writesInPlace: Bool { true }

    /// Lets the next read still find zeros here, between newer data.
    func hideNext(_ hole: Range<Int>) { lock.withLock { self.hole = hole } }

    /// Lets the next look at a file's length give an older length.
    func lengthenNext(to byteCount: Int) { lock.withLock { olderByteCount = byteCount } }

    func takeHole() -> Range<Int>? {
        lock.withLock {
            defer { hole = nil }
            return hole
        }
    }

    func takeByteCount() -> Int? {
        lock.withLock {
            defer { olderByteCount = nil }
            return olderByteCount
        }
    }

    func names() throws(SystemError) -> [String] { try directory.names() }

    func open(_ name: String, forWriting: Bool) throws(SystemError) -> any JournalFile {
        StaleFile(try directory.open(name, forWriting: forWriting), self)
    }

    func create(_ name: String) throws(SystemError) -> any JournalFile { try directory.create(name) }

    func rename(_ name: String, to other: String) throws(SystemError) { try directory.rename(name, to: other) }

    func remove(_ name: String) throws(SystemError) { try directory.remove(name) }

    func synchronize() throws(SystemError) { try directory.synchronize() }
}

private final class StaleFile: JournalFile {
    private let file: StorageFile
    private let storage: StaleStorage

    init(_ file: StorageFile, _ storage: StaleStorage) {
        self.file = file
        self.storage = storage
    }

    func byteCount() throws(SystemError) -> Int {
        let byteCount = try file.byteCount()
        return storage.takeByteCount() ?? byteCount
    }

    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        let count = try file.read(at: offset, into: buffer)
        for index in storage.takeHole() ?? 0..<0 where index >= offset && index < offset + count {
            buffer[index - offset] = 0
        }
        return count
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
        try file.write(bytes, at: offset)
    }

    func fillWithZeros(_ byteCount: Int) throws(SystemError) { try file.fillWithZeros(byteCount) }

    func truncate(to byteCount: Int) throws(SystemError) { try file.truncate(to: byteCount) }

    func map(_ byteCount: Int) throws(SystemError) -> MemoryMapping { try file.map(byteCount) }

    func synchronize() throws(SystemError) { try file.synchronize() }
}

import BridgePlatform
import Locks

@testable import Journal

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A directory whose calls fail, wait and are counted as a test says.
final class FaultyStorage: JournalStorage, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let directory: StorageDirectory
    let writesInPlace: Bool
    let lock = Lock()
    private(set) var bytesRead = 0
    private(set) var synchronizations = 0
    private var isFull = false
    private var failsToFill = 0
    private var failsToSynchronize = 0
    private var gate: Baton?

    init(at path: String, writesInPlace: Bool = true) throws {
        directory = try StorageDirectory(at: path, makes: true)
        self.writesInPlace = writesInPlace
    }

    /// From now on there is no room for another file, or there is again.
    func setFull(_ isFull: Bool) { lock.withLock { self.isFull = isFull } }

    /// There is no room for the next so many files.
    func failNextFills(_ count: Int) { lock.withLock { failsToFill = count } }

    /// The next so many synchronizations fail, and those behind them succeed again.
    func failSynchronizations(_ count: Int) { lock.withLock { failsToSynchronize = count } }

    /// The next synchronization waits for this.
    func holdSynchronization(by baton: Baton) { lock.withLock { gate = baton } }

    func countRead(_ count: Int) { lock.withLock { bytesRead += count } }

    func checkRoom() throws(SystemError) {
        let fails = lock.withLock {
            defer { if failsToFill > 0 { failsToFill -= 1 } }
            return isFull || failsToFill > 0
        }
        if fails { throw SystemError(code: ENOSPC, operation: "writing") }
    }

    func willSynchronize() throws(SystemError) {
        let (baton, fails) = lock.withLock {
            synchronizations += 1
            defer { gate = nil }
            let fails = failsToSynchronize > 0
            if fails { failsToSynchronize -= 1 }
            return (gate, fails)
        }
        baton?.take()
        if fails { throw SystemError(code: EIO, operation: "synchronizing") }
    }

    func names() throws(SystemError) -> [String] { try directory.names() }

    func open(_ name: String, forWriting: Bool) throws(SystemError) -> any JournalFile {
        FaultyFile(try directory.open(name, forWriting: forWriting), self)
    }

    func create(_ name: String) throws(SystemError) -> any JournalFile {
        FaultyFile(try directory.create(name), self)
    }

    func rename(_ name: String, to other: String) throws(SystemError) { try directory.rename(name, to: other) }

    func remove(_ name: String) throws(SystemError) { try directory.remove(name) }

    func synchronize() throws(SystemError) { try directory.synchronize() }
}

private final class FaultyFile: JournalFile {
    private let file: StorageFile
    private let storage: FaultyStorage

    init(_ file: StorageFile, _ storage: FaultyStorage) {
        self.file = file
        self.storage = storage
    }

    func byteCount() throws(SystemError) -> Int { try file.byteCount() }

    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        let count = try file.read(at: offset, into: buffer)
        storage.countRead(count)
        return count
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
        try file.write(bytes, at: offset)
    }

    func fillWithZeros(_ byteCount: Int) throws(SystemError) {
        try storage.checkRoom()
        try file.fillWithZeros(byteCount)
    }

    func truncate(to byteCount: Int) throws(SystemError) { try file.truncate(to: byteCount) }

    func map(_ byteCount: Int) throws(SystemError) -> MemoryMapping { try file.map(byteCount) }

    func synchronize() throws(SystemError) {
        try storage.willSynchronize()
        try file.synchronize()
    }
}

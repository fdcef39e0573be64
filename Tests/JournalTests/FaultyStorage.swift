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
    private var readBytes = 0
    private var synchronizationCount = 0
    private var isFull = false
    private var failsToFill = 0
    private var failsToSynchronize = 0
    private var failsToWrite = 0
    private var goodWrites = 0
    private var irremovable: Set<String> = []
    private var failsToOpen = 0
    private var unreadable: [(name: String, bytes: Range<Int>)] = []
    private var failsToRead = 0
    private var goodOpenings = 0
    private var gate: Baton?
    private var isHeld = false
    private var fillGate: Baton?
    private var removedAfterListing: String?
    private var beforeOpening: (@Sendable () -> Void)?
    private var beforeReading: (@Sendable () -> Void)?
    private var synchronizedFiles: Set<String> = []
    private var written: [String: Int] = [:]

    init(at path: String, writesInPlace: Bool = true) throws {
        directory = try StorageDirectory(at: path, makes: true)
        self.writesInPlace = writesInPlace
    }

    /// Sets whether there is no room for another file from now on.
    func setFull(_ isFull: Bool) { lock.withLock { self.isFull = isFull } }

    /// Leaves no room for the next `count` files.
    func failNextFills(_ count: Int) { lock.withLock { failsToFill = count } }

    /// Lets the next `count` synchronizations fail; later ones succeed again.
    func failSynchronizations(_ count: Int) { lock.withLock { failsToSynchronize = count } }

    /// Leaves no room for the next `count` writes behind `good` others; each of them writes only its first half.
    func failNextWrites(_ count: Int, after good: Int = 0) {
        lock.withLock { (failsToWrite, goodWrites) = (count, good) }
    }

    /// Lets each removal of this file fail from now on.
    func failRemovals(of name: String) { lock.withLock { _ = irremovable.insert(name) } }

    /// Lets the next `count` openings behind `good` others fail, as if this process had no descriptor left.
    func failNextOpenings(_ count: Int, after good: Int = 0) {
        lock.withLock { (failsToOpen, goodOpenings) = (count, good) }
    }

    /// Lets the disk give back none of these bytes of a file.
    func loseBytes(_ bytes: Range<Int>, of name: String) { lock.withLock { unreadable.append((name, bytes)) } }

    /// Lets the next `count` reads fail; later ones succeed again.
    func failNextReads(_ count: Int) { lock.withLock { failsToRead = count } }

    /// Removes this file, as another process might, when the names have been listed.
    func removeAfterListing(_ name: String) { lock.withLock { removedAfterListing = name } }

    /// Called before the next file is opened.
    func onNextOpening(_ body: @escaping @Sendable () -> Void) { lock.withLock { beforeOpening = body } }

    /// Called before the next read.
    func onNextReading(_ body: @escaping @Sendable () -> Void) { lock.withLock { beforeReading = body } }

    /// Lets the next synchronization wait for this baton.
    func holdSynchronization(by baton: Baton) { lock.withLock { gate = baton } }

    /// Lets the next file wait for this baton before it gets its room.
    func holdFill(by baton: Baton) { lock.withLock { fillGate = baton } }

    /// Whether the last synchronization that began waits for its baton, or has waited for it.
    var isSynchronizationHeld: Bool { lock.withLock { isHeld } }

    var bytesRead: Int { lock.withLock { readBytes } }
    var synchronizations: Int { lock.withLock { synchronizationCount } }
    /// The names of the files that were synchronized.
    var synchronizedNames: Set<String> { lock.withLock { synchronizedFiles } }

    func countRead(_ count: Int) { lock.withLock { readBytes += count } }

    func checkRoom() throws(SystemError) {
        let (baton, fails) = lock.withLock {
            defer {
                fillGate = nil
                if failsToFill > 0 { failsToFill -= 1 }
            }
            return (fillGate, isFull || failsToFill > 0)
        }
        baton?.take()
        if fails { throw SystemError(code: ENOSPC, operation: "writing") }
    }

    func willRead(_ bytes: Range<Int>, of name: String) throws(SystemError) {
        lock.withLock {
            defer { beforeReading = nil }
            return beforeReading
        }?()
        let fails = lock.withLock {
            if failsToRead > 0 {
                failsToRead -= 1
                return true
            }
            return unreadable.contains { $0.name == name && $0.bytes.overlaps(bytes) }
        }
        if fails { throw SystemError(code: EIO, operation: "reading \(name)") }
    }

    /// How many bytes were written to a file, without bytes stored through its mapping.
    func bytesWritten(to name: String) -> Int { lock.withLock { written[name] ?? 0 } }

    /// - Returns: Whether there is room for the write.
    func willWrite(_ count: Int, to name: String) -> Bool {
        lock.withLock {
            written[name, default: 0] += count
            guard failsToWrite > 0 else { return true }
            if goodWrites > 0 {
                goodWrites -= 1
                return true
            }
            failsToWrite -= 1
            return false
        }
    }

    func willSynchronize(_ name: String) throws(SystemError) {
        let (baton, fails) = lock.withLock {
            synchronizationCount += 1
            synchronizedFiles.insert(name)
            defer { gate = nil }
            isHeld = gate != nil
            let fails = failsToSynchronize > 0
            if fails { failsToSynchronize -= 1 }
            return (gate, fails)
        }
        baton?.take()
        if fails { throw SystemError(code: EIO, operation: "synchronizing") }
    }

    func names() throws(SystemError) -> [String] {
        let names = try directory.names()
        let removed = lock.withLock {
            defer { removedAfterListing = nil }
            return removedAfterListing
        }
        if let removed { try directory.remove(removed) }
        return names
    }

    func open(_ name: String, forWriting: Bool) throws(SystemError) -> any JournalFile {
        lock.withLock {
            defer { beforeOpening = nil }
            return beforeOpening
        }?()
        let fails = lock.withLock {
            guard failsToOpen > 0 else { return false }
            if goodOpenings > 0 {
                goodOpenings -= 1
                return false
            }
            failsToOpen -= 1
            return true
        }
        if fails { throw SystemError(code: EMFILE, operation: "opening") }
        return FaultyFile(try directory.open(name, forWriting: forWriting), name, self)
    }

    func create(_ name: String) throws(SystemError) -> any JournalFile {
        FaultyFile(try directory.create(name), name, self)
    }

    func rename(_ name: String, to other: String) throws(SystemError) { try directory.rename(name, to: other) }

    func remove(_ name: String) throws(SystemError) {
        let fails = lock.withLock { irremovable.contains(name) }
        if fails { throw SystemError(code: EIO, operation: "removing") }
        try directory.remove(name)
    }

    func synchronize() throws(SystemError) { try directory.synchronize() }
}

private final class FaultyFile: JournalFile {
    private let file: StorageFile
    private let name: String
    private let storage: FaultyStorage

    init(_ file: StorageFile, _ name: String, _ storage: FaultyStorage) {
        self.file = file
        self.name = name
        self.storage = storage
    }

    func byteCount() throws(SystemError) -> Int { try file.byteCount() }

    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        try storage.willRead(offset..<(offset + buffer.count), of: name)
        let count = try file.read(at: offset, into: buffer)
        storage.countRead(count)
        return count
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
        guard storage.willWrite(bytes.count, to: name) else {
            // A word lies in one block, which has room or has none.
            let part = bytes.count <= 8 ? 0 : bytes.count / 2
            try file.write(UnsafeRawBufferPointer(rebasing: bytes[..<part]), at: offset)
            throw SystemError(code: ENOSPC, operation: "writing")
        }
        try file.write(bytes, at: offset)
    }

    func fillWithZeros(_ byteCount: Int) throws(SystemError) {
        try storage.checkRoom()
        try file.fillWithZeros(byteCount)
    }

    func truncate(to byteCount: Int) throws(SystemError) { try file.truncate(to: byteCount) }

    func map(_ byteCount: Int) throws(SystemError) -> MemoryMapping { try file.map(byteCount) }

    func synchronize() throws(SystemError) {
        try storage.willSynchronize(name)
        try file.synchronize()
    }
}

package import BridgePlatform

/// The place of a journal's files: a directory, or in tests a storage that simulates faults.
package protocol JournalStorage: AnyObject, Sendable {
    /// Whether a mapped page that was written once can be written again, however full the file system is.
    var writesInPlace: Bool { get }
    /// Whether this is a directory in which a host may keep its workers' outboxes, too.
    var keepsOutboxes: Bool { get }

    func names() throws(SystemError) -> [String]
    func open(_ name: String, forWriting: Bool) throws(SystemError) -> any JournalFile
    func create(_ name: String) throws(SystemError) -> any JournalFile
    func rename(_ name: String, to other: String) throws(SystemError)
    func remove(_ name: String) throws(SystemError)
    /// Returns when the file names are safe on the disk.
    func synchronize() throws(SystemError)
}

extension JournalStorage {
    package var keepsOutboxes: Bool { false }
}

/// A file of a journal; ``StorageFile`` has these operations.
package protocol JournalFile: AnyObject, Sendable {
    func byteCount() throws(SystemError) -> Int
    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError)
    func fillWithZeros(_ byteCount: Int) throws(SystemError)
    func truncate(to byteCount: Int) throws(SystemError)
    func map(_ byteCount: Int) throws(SystemError) -> MemoryMapping
    func synchronize() throws(SystemError)
}

extension StorageFile: JournalFile {}

/// A directory of the file system.
final class DirectoryStorage: JournalStorage {
    private let directory: StorageDirectory
    let writesInPlace: Bool
    // On other file systems, a store into a mapped page could find no room, and end the worker.
    var keepsOutboxes: Bool { writesInPlace }

    init(_ directory: StorageDirectory) {
        self.directory = directory
        writesInPlace = directory.fileSystem == .inPlace
    }

    func names() throws(SystemError) -> [String] { try directory.names() }

    func open(_ name: String, forWriting: Bool) throws(SystemError) -> any JournalFile {
        try directory.open(name, forWriting: forWriting)
    }

    func create(_ name: String) throws(SystemError) -> any JournalFile { try directory.create(name) }

    func rename(_ name: String, to other: String) throws(SystemError) { try directory.rename(name, to: other) }

    func remove(_ name: String) throws(SystemError) { try directory.remove(name) }

    func synchronize() throws(SystemError) { try directory.synchronize() }
}

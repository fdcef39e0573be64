import CBridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A file for memory that processes share; without a name, it lives as long as a process holds it.
///
/// A file without a name takes memory only where it was written. On Linux no process can change the size of such a
/// file, so its mapping is safe to touch whatever other processes do; on Darwin there is no such seal. A file that
/// ``StorageDirectory/makeMemory(_:byteCount:)`` has made has a name, all its room from the start, and no seal.
package final class MemoryFile: Sendable {
    private let file: FileDescriptor
    package let byteCount: Int
    /// Whether the file had a name in a file system when this object was made.
    private let hasName: Bool
    /// The only mapping through which the file can be written; nil unless ``makeForReaders(byteCount:)`` has made this
    /// object.
    package let soleMapping: MemoryMapping?

    private init(
        _ file: consuming FileDescriptor,
        byteCount: Int,
        hasName: Bool = false,
        soleMapping: MemoryMapping? = nil
    ) {
        self.file = file
        self.byteCount = byteCount
        self.hasName = hasName
        self.soleMapping = soleMapping
    }

    /// A new file of `byteCount` bytes, all 0.
    package static func make(byteCount: Int) throws(SystemError) -> MemoryFile {
        let number = try SystemError.check("making a memory file of \(byteCount) bytes") {
            cbp_memory_file_create(byteCount)
        }
        return MemoryFile(FileDescriptor(owning: number), byteCount: byteCount)
    }

    /// A new file of `byteCount` bytes, all 0, that can be written through ``soleMapping``, and by no process that gets
    /// its descriptor.
    package static func makeForReaders(byteCount: Int) throws(SystemError) -> MemoryFile {
        var address: UnsafeMutableRawPointer?
        let number = try SystemError.check("making a memory file of \(byteCount) bytes for readers") {
            cbp_memory_file_create_for_readers(byteCount, &address)
        }
        let mapping = MemoryMapping(UnsafeMutableRawBufferPointer(start: address, count: byteCount))
        return MemoryFile(FileDescriptor(owning: number), byteCount: byteCount, soleMapping: mapping)
    }

    /// Takes ownership of a descriptor; if it leads to no regular file, or to an empty one, closes it and returns nil.
    package convenience init?(inherited descriptor: consuming FileDescriptor) {
        var status = stat()
        guard fstat(descriptor.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let byteCount = Int(exactly: status.st_size), byteCount > 0
        else { return nil }
        self.init(descriptor, byteCount: byteCount, hasName: status.st_nlink > 0)
    }

    /// The number of the file's descriptor, to be handed to another process.
    package var rawValue: CInt { file.rawValue }

    /// Takes the lock of the file for all processes that have got this descriptor; returns false if others have it.
    ///
    /// The lock ends when the last of these processes has closed the descriptor or ended.
    package func tryLock() throws(SystemError) -> Bool {
        try LockFile.tryLock(file.rawValue, "locking a memory file")
    }

    /// Copies what lies at `offset`, and returns how many bytes; if fewer than asked for, the file has no more.
    package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        try file.read(at: offset, into: buffer, "reading a memory file")
    }

    /// Maps the whole file for reading; nil if that fails, or if the file could become shorter.
    package func mapForReading() -> MemoryMapping? {
        cbp_memory_file_map_for_reading(file.rawValue, byteCount).map {
            MemoryMapping(UnsafeMutableRawBufferPointer(start: $0, count: byteCount))
        }
    }

    /// Maps the whole file into this process.
    package func map() throws(SystemError) -> MemoryMapping {
        guard let address = cbp_memory_file_map(file.rawValue, byteCount) else {
            throw SystemError.current("mapping a memory file of \(byteCount) bytes")
        }
        return MemoryMapping(
            UnsafeMutableRawBufferPointer(start: address, count: byteCount),
            // The room of a file with a name, once given back, may not come again: a store would end the process.
            givesBack: !hasName
        )
    }
}

/// A memory file in this process's address space.
///
/// `@unchecked Sendable`: its users agree which of the bytes each of them may touch.
package final class MemoryMapping: @unchecked Sendable {
    package let bytes: UnsafeMutableRawBufferPointer
    private let givesBack: Bool

    init(_ bytes: UnsafeMutableRawBufferPointer, givesBack: Bool = true) {
        self.bytes = bytes
        self.givesBack = givesBack
    }

    deinit {
        if let address = bytes.baseAddress { _ = cbp_memory_file_unmap(address, bytes.count) }
    }

    /// Copies bytes that another process may be changing at the same time; `range` lies within the file.
    package func copy(_ range: Range<Int>, into buffer: UnsafeMutableRawBufferPointer) {
        guard let source = bytes.baseAddress, let target = buffer.baseAddress, range.lowerBound >= 0,
            range.upperBound <= bytes.count, range.count <= buffer.count
        else { return }
        cbp_copy(target, source + range.lowerBound, range.count)
    }

    /// Prepares all pages for writing, if the system can do that; otherwise the first store into each page has to wait.
    package func populate() {
        if let address = bytes.baseAddress { cbp_memory_file_populate(address, bytes.count) }
    }

    /// Gives back the memory of these whole pages, whose bytes are 0 afterwards; does nothing if the system cannot, or
    /// if this is the mapping of a ``MemoryFile`` with a name.
    package func giveBack(_ range: Range<Int>) {
        guard givesBack, let address = bytes.baseAddress, range.upperBound <= bytes.count else { return }
        cbp_memory_file_give_back(address + range.lowerBound, range.count)
    }
}

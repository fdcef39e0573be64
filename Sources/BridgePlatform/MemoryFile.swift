import CBridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A file without a name that lives as long as somebody holds it, for memory that two processes share.
///
/// It takes memory only where it was written. On Linux nobody can change its size any more, so that a mapping of it is safe to
/// touch whatever the other process does; on Darwin there is no such seal.
package final class MemoryFile: Sendable {
    private let file: FileDescriptor
    package let byteCount: Int

    private init(_ file: consuming FileDescriptor, byteCount: Int) {
        self.file = file
        self.byteCount = byteCount
    }

    /// A new file of `byteCount` bytes, all 0.
    package static func make(byteCount: Int) throws(SystemError) -> MemoryFile {
        let number = try SystemError.check("making a memory file of \(byteCount) bytes") {
            cbp_memory_file_create(byteCount)
        }
        return MemoryFile(FileDescriptor(owning: number), byteCount: byteCount)
    }

    /// Takes over a descriptor from another process; nil, and the descriptor closed, if it is no file.
    package convenience init?(inherited descriptor: consuming FileDescriptor) {
        var status = stat()
        guard fstat(descriptor.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let byteCount = Int(exactly: status.st_size), byteCount > 0
        else { return nil }
        self.init(descriptor, byteCount: byteCount)
    }

    /// Its number, to be handed to another process.
    package var rawValue: CInt { file.rawValue }

    /// Copies what lies at `offset`; fewer bytes than asked for mean that the file has no more.
    package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = try SystemError.check("reading a memory file") {
                pread(file.rawValue, rest.baseAddress, rest.count, off_t(offset + done))
            }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Maps the whole file into this process.
    package func map() throws(SystemError) -> MemoryMapping {
        guard let address = cbp_memory_file_map(file.rawValue, byteCount) else {
            throw SystemError.current("mapping a memory file of \(byteCount) bytes")
        }
        return MemoryMapping(UnsafeMutableRawBufferPointer(start: address, count: byteCount))
    }
}

/// A memory file in this process's address space.
///
/// `@unchecked Sendable`: who may touch which of the bytes is up to those who share them.
package final class MemoryMapping: @unchecked Sendable {
    package let bytes: UnsafeMutableRawBufferPointer

    fileprivate init(_ bytes: UnsafeMutableRawBufferPointer) {
        self.bytes = bytes
    }

    deinit {
        if let address = bytes.baseAddress { _ = cbp_memory_file_unmap(address, bytes.count) }
    }

    /// Lets the memory go that backs these bytes, which are 0 from then on; begin and end lie on page boundaries.
    package func giveBack(_ range: Range<Int>) {
        guard let address = bytes.baseAddress, range.upperBound <= bytes.count else { return }
        cbp_memory_file_give_back(address + range.lowerBound, range.count)
    }
}

import CBridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A regular file that is read and written at any place, and outlives the process.
///
/// Any thread may use it.
package final class StorageFile: Sendable {
    private let descriptor: FileDescriptor
    private let name: String

    init(_ descriptor: consuming FileDescriptor, name: String) throws(SystemError) {
        self.descriptor = descriptor
        self.name = name
        guard try status().kind == .regularFile else {
            throw SystemError(code: EINVAL, operation: "opening \(name), which is no file")
        }
    }

    package func status() throws(SystemError) -> FileStatus {
        FileStatus(try systemStatus())
    }

    func setPermissions(_ permissions: mode_t) throws(SystemError) {
        try SystemError.check("setting the permissions of \(name)") { fchmod(descriptor.rawValue, permissions) }
    }

    package func byteCount() throws(SystemError) -> Int {
        Int(try systemStatus().st_size)
    }

    private func systemStatus() throws(SystemError) -> stat {
        var status = stat()
        try SystemError.check("looking at \(name)") { fstat(descriptor.rawValue, &status) }
        return status
    }

    /// Copies what lies at `offset`, and returns how many bytes; if fewer than asked for, the file has no more.
    package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        try descriptor.read(at: offset, into: buffer, "reading \(name)")
    }

    /// Writes all of the bytes at `offset`.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            done += try SystemError.check("writing \(name)") {
                pwrite(descriptor.rawValue, rest.baseAddress, rest.count, off_t(offset + done))
            }
        }
    }

    /// Writes zeros up to `byteCount`, so that a file system that writes in place has room for all of it from now on.
    package func fillWithZeros(_ byteCount: Int) throws(SystemError) {
        let block = min(byteCount, 256 << 10)
        let zeros = UnsafeMutableRawBufferPointer.allocate(byteCount: block, alignment: 16)
        defer { zeros.deallocate() }
        zeros.initializeMemory(as: UInt8.self, repeating: 0)
        var done = 0
        while done < byteCount {
            let part = UnsafeRawBufferPointer(rebasing: zeros[..<min(block, byteCount - done)])
            try write(part, at: done)
            done += part.count
        }
    }

    package func truncate(to byteCount: Int) throws(SystemError) {
        try SystemError.check("cutting \(name)") { ftruncate(descriptor.rawValue, off_t(byteCount)) }
    }

    /// Maps the first `byteCount` bytes, which must be there, for reading and writing.
    ///
    /// What is stored there outlives the process from the moment of the store. The file must not become shorter while
    /// it is mapped, and the file system has to be one that writes in place.
    package func map(_ byteCount: Int) throws(SystemError) -> MemoryMapping {
        guard let address = cbp_memory_file_map(descriptor.rawValue, byteCount) else {
            throw SystemError.current("mapping \(name)")
        }
        return MemoryMapping(UnsafeMutableRawBufferPointer(start: address, count: byteCount))
    }

    /// Returns when everything that was written, or stored in a mapping, lies on the medium.
    package func synchronize() throws(SystemError) {
        try SystemError.check("synchronizing \(name)") { cbp_file_synchronize(descriptor.rawValue) }
    }
}

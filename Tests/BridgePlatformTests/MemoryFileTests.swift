import BridgePlatform
import Testing

// The C library's `pwrite`: what another process would try.
#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("Memory files")
struct MemoryFileTests {
    private func bytes(_ file: MemoryFile, _ range: Range<Int>) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            count = try file.read(at: range.lowerBound, into: UnsafeMutableRawBufferPointer(buffer))
        }
    }

    private struct NoFile: Error {}

    /// The same file under another number, as another process has it.
    private func sibling(of descriptor: CInt) throws -> MemoryFile {
        let copy = try FileDescriptor.duplicate(descriptor)
        guard let file = MemoryFile(inherited: copy) else { throw NoFile() }
        return file
    }

    #if os(Linux)
    @Test("a file for readers is written by its maker alone, and read by all")
    func forReaders() throws {
        let file = try MemoryFile.makeForReaders(byteCount: 1 << 20)
        let own = try #require(file.soleMapping)
        own.bytes[5_000] = 7
        // What another process has: a descriptor of the same file.
        let theirs = try sibling(of: file.rawValue)
        #expect(theirs.soleMapping == nil)
        #expect(throws: SystemError.self) { try theirs.map() }
        #expect(pwrite(theirs.rawValue, "x", 1, 0) == -1)
        #expect(ftruncate(theirs.rawValue, 0) == -1)
        #expect(try bytes(theirs, 4_999..<5_002) == [0, 7, 0])
        let mapping = try #require(theirs.mapForReading())
        own.bytes[5_001] = 8
        #expect(mapping.bytes[5_001] == 8)
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: 3, alignment: 1)
        defer { copy.deallocate() }
        mapping.copy(4_999..<5_002, into: copy)
        #expect(Array(copy) == [0, 7, 8])
    }

    @Test("a file that could become shorter is not mapped for reading")
    func unsealed() throws {
        let stream = try #require(tmpfile())
        defer { fclose(stream) }
        #expect(ftruncate(fileno(stream), 4_096) == 0)
        let file = try sibling(of: fileno(stream))
        #expect(file.mapForReading() == nil)
        #expect(try MemoryFile.make(byteCount: 4_096).mapForReading() != nil)
    }

    @Test("a file with a name has all its room, is locked for all that have its descriptor, and gives nothing back")
    func named() throws {
        let directory = try PrivateDirectory.make(named: "memory-files")
        let files = try StorageDirectory(at: directory.path, makes: false)
        defer {
            try? files.remove("memory")
            directory.remove()
        }
        var made: MemoryFile?
        do throws(SystemError) {
            made = try files.makeMemory("memory", byteCount: 1 << 20)
        } catch {
            // No room can be kept here, as on tmpfs or a full disk, and nothing is left of the attempt.
            #expect(error.isUnsupported || error.isFullDisk)
            #expect(try files.names().isEmpty)
            return
        }
        #expect(made?.byteCount == 1 << 20)
        let status = try #require(OperatingSystem.status(of: directory.path + "/memory"))
        #expect(status.permissions == 0o600)
        #expect(throws: SystemError.self) { try files.makeMemory("memory", byteCount: 1 << 20) }
        // What a process that is started has: a copy of the descriptor, and with it the lock.
        var theirs: MemoryFile? = try sibling(of: #require(made).rawValue)
        let found = try #require(try files.openMemory("memory"))
        #expect(try !found.tryLock())
        var mapping = try theirs?.map()
        mapping?.bytes[70_000] = 7
        mapping?.giveBack(65_536..<131_072)
        #expect(try bytes(found, 69_999..<70_002) == [0, 7, 0])
        // It could become shorter, so it is read by system calls only.
        #expect(found.mapForReading() == nil)
        // A mapping holds the lock, too: its process may still write.
        (theirs, made) = (nil, nil)
        #expect(try !found.tryLock())
        mapping = nil
        #expect(try found.tryLock())
        try files.remove("memory")
        #expect(try files.names().isEmpty)
    }
    #endif
}

import BridgePlatform
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("Lock files")
struct LockFileTests {
    /// A process that is being started has copies of all descriptors until its program begins.
    @Test("A lock ends with its object, and at its unlocking, even while a copy of its descriptor is open")
    func endsBesideCopies() throws {
        try withTemporaryDirectory { path in
            let directory = try StorageDirectory(at: path, makes: false)
            var first: LockFile? = try directory.openLock("lock")
            let isTaken = try first?.tryLock()
            #expect(isTaken == true)
            var copies = try copiesOfDescriptors(of: "\(path)/lock")
            #expect(copies.count == 1)
            let second = try directory.openLock("lock")
            #expect(try !second.tryLock())
            first = nil
            #expect(try second.tryLock())
            // The first lock's copy, and the second lock with a copy of its own.
            copies += try copiesOfDescriptors(of: "\(path)/lock")
            #expect(copies.count == 3)
            let third = try directory.openLock("lock")
            #expect(try !third.tryLock())
            second.unlock()
            #expect(try third.tryLock())
            withExtendedLifetime((copies, second)) {}
        }
    }

    @Test("A lock file that is missing is made only if the caller asks for that")
    func missing() throws {
        try withTemporaryDirectory { path in
            let directory = try StorageDirectory(at: path, makes: false)
            let error = #expect(throws: SystemError.self) { try directory.openLock("lock", makes: false) }
            #expect(error?.isMissingFile == true)
            _ = try directory.openLock("lock")
            #expect(try directory.openLock("lock", makes: false).tryLock())
        }
    }

    /// Copies of all descriptors of this process that refer to the file.
    private func copiesOfDescriptors(of path: String) throws -> [Copy] {
        var (wanted, found) = (stat(), stat())
        #expect(stat(path, &wanted) == 0)
        let numbers = (3..<CInt(1_024)).filter { number in
            fstat(number, &found) == 0 && found.st_ino == wanted.st_ino && found.st_dev == wanted.st_dev
        }
        return try numbers.map { Copy(try FileDescriptor.duplicate($0)) }
    }

    /// A descriptor that is closed with this object.
    private final class Copy {
        private let descriptor: FileDescriptor

        init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }
    }
}

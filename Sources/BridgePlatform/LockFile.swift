import CBridgePlatform

#if canImport(Glibc)
package import Glibc
#elseif canImport(Darwin)
package import Darwin
#endif

/// A file that at most one process holds locked, with that process's number in it.
///
/// The lock ends with this object or with the process, however the process dies.
package final class LockFile: Sendable {
    private let descriptor: FileDescriptor
    private let name: String

    private init(_ descriptor: consuming FileDescriptor, name: String) {
        self.descriptor = descriptor
        self.name = name
    }

    /// Opens a file to lock it.
    ///
    /// - Parameter makes: whether a missing file is made.
    static func open(
        _ name: String,
        in directory: borrowing FileDescriptor,
        makes: Bool = true
    ) throws(SystemError) -> LockFile {
        // O_NONBLOCK, because the opening could otherwise wait, for example until another process gives up a lease.
        let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (makes ? O_CREAT : 0)
        let directory = directory.rawValue
        let number = try SystemError.check("opening the lock file \(name)") { openat(directory, name, flags, 0o600) }
        return LockFile(FileDescriptor(owning: number), name: name)
    }

    deinit { unlock() }

    /// Ends the lock now.
    ///
    /// Closing the file would not be enough: a process that is being started has copies of all descriptors until its
    /// program begins.
    package func unlock() { _ = cbp_file_unlock(descriptor.rawValue) }

    package func status() throws(SystemError) -> FileStatus {
        var status = stat()
        try SystemError.check("looking at the lock file \(name)") { fstat(descriptor.rawValue, &status) }
        return FileStatus(status)
    }

    /// Takes the lock until this object is released; returns false if another process or object has it.
    package func tryLock() throws(SystemError) -> Bool { try Self.tryLock(descriptor.rawValue, "locking \(name)") }

    /// Takes an open file's lock for all processes that have this descriptor; returns false if another holder has it.
    static func tryLock(_ descriptor: CInt, _ operation: String) throws(SystemError) -> Bool {
        if retryingInterrupted({ cbp_file_try_lock(descriptor) }) == 0 { return true }
        let error = SystemError.current(operation)
        if error.code == EWOULDBLOCK { return false }
        throw error
    }

    /// Takes the lock until this object is released; fails if another process or object has it.
    package func take() throws(SystemError) {
        if try !tryLock() { throw SystemError(code: EWOULDBLOCK, operation: "locking \(name)") }
    }

    /// Writes this process's number into the file, whose lock it holds.
    package func sign() throws(SystemError) {
        let text = Array("\(getpid())\n".utf8)
        try SystemError.check("emptying the lock file \(name)") { ftruncate(descriptor.rawValue, 0) }
        try SystemError.check("writing the lock file \(name)") { pwrite(descriptor.rawValue, text, text.count, 0) }
    }

    /// The process that has signed; nil if no process has signed, or none has that number any more.
    ///
    /// A process that has just taken the lock has not signed yet.
    package func signer() -> pid_t? {
        let text = withUnsafeTemporaryAllocation(byteCount: 32, alignment: 1) { buffer in
            let count = retryingInterrupted { pread(descriptor.rawValue, buffer.baseAddress, buffer.count, 0) }
            return String(decoding: UnsafeRawBufferPointer(buffer)[..<max(0, count)], as: UTF8.self)
        }
        guard let pid = pid_t(text.prefix { $0.isNumber }), pid > 0 else { return nil }
        return kill(pid, 0) == 0 || errno == EPERM ? pid : nil
    }
}

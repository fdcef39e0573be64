#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// An open file, pipe or terminal: read in chunks and written whole, on a thread that may wait.
package final class SystemFile: Sendable {
    package static let standardInput = SystemFile(inherited: STDIN_FILENO)
    package static let standardOutput = SystemFile(inherited: STDOUT_FILENO)
    package static let standardError = SystemFile(inherited: STDERR_FILENO)

    /// The descriptor to close; nil for a standard stream, which this object must not close.
    private let owned: SharedDescriptor?
    private let number: CInt
    /// Whether this is a named pipe; then the first read waits until a process has opened the pipe for writing.
    private let isNamedPipe: Bool

    private init(inherited number: CInt) {
        self.number = number
        owned = nil
        isNamedPipe = false
    }

    package convenience init(_ descriptor: consuming FileDescriptor) {
        self.init(descriptor, isNamedPipe: false)
    }

    private init(_ descriptor: consuming FileDescriptor, isNamedPipe: Bool) {
        number = descriptor.rawValue
        self.isNamedPipe = isNamedPipe
        owned = SharedDescriptor(descriptor)
    }

    /// Opens a file for reading; a directory is refused here and not at the first read.
    ///
    /// This does not wait. If no process has opened a named pipe for writing yet, the first ``read(upTo:)`` waits.
    package static func open(reading path: String) throws(SystemFileError) -> SystemFile {
        // A NUL would end the name early for the kernel, and another file would be opened.
        guard !path.utf8.contains(0) else { throw SystemFileError("its name has a NUL character") }
        let number = retryingInterrupted { openFile(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard number >= 0 else { throw SystemFileError(errno) }
        let descriptor = FileDescriptor(owning: number)
        var status = stat()
        guard fstat(number, &status) == 0 else { throw SystemFileError(errno) }
        if status.st_mode & S_IFMT == S_IFDIR { throw SystemFileError(EISDIR) }
        do throws(SystemError) {
            try FileDescriptor.setBlocking(number, true)
            let isNamedPipe = status.st_mode & S_IFMT == S_IFIFO ? try !isAnonymous(status) : false
            return SystemFile(descriptor, isNamedPipe: isNamedPipe)
        } catch {
            throw SystemFileError(error.code)
        }
    }

    /// Whether a pipe has no name, such as the pipe of a shell's `<(…)`, opened by way of `/dev/fd`.
    ///
    /// All such pipes are on one device of their own. If the writer of such a pipe is gone, no other writer comes.
    private static func isAnonymous(_ status: stat) throws(SystemError) -> Bool {
        let other = try FileDescriptor.pipe()
        var anonymous = stat()
        return fstat(other.reading.rawValue, &anonymous) == 0 && anonymous.st_dev == status.st_dev
    }

    /// Waits, if this is a named pipe, until a read finds something or the end; for another file it returns at once.
    ///
    /// - Returns: False if the time was over first.
    package func comes(withinMilliseconds limit: CInt) -> Bool {
        !isNamedPipe || waitUntilReady(number, for: POLLIN, milliseconds: limit)
    }

    /// Opens a file for writing; makes the file if it is missing, and empties it otherwise.
    package static func create(_ path: String) throws(SystemFileError) -> SystemFile {
        guard !path.utf8.contains(0) else { throw SystemFileError("its name has a NUL character") }
        let number = retryingInterrupted { createFile(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666) }
        guard number >= 0 else { throw SystemFileError(errno) }
        return SystemFile(FileDescriptor(owning: number))
    }

    package var isTerminal: Bool { Terminal.isTerminal(number) }

    /// How many columns the terminal has; nil if the file is no terminal, or the terminal does not know.
    package var terminalWidth: Int? { Terminal.width(of: number) }

    /// How many columns and rows the terminal has; nil if the file is no terminal, or the terminal does not know.
    package var terminalSize: (columns: Int, rows: Int)? {
        guard let columns = Terminal.width(of: number), let rows = Terminal.height(of: number) else { return nil }
        return (columns, rows)
    }

    /// Calls `body` on the poller's thread, again and again, once this pipe has lost its last reader.
    ///
    /// - Returns: The registration, to be cancelled; nil if the file is no pipe, or cannot be watched.
    package func whenReaderGoes(on poller: Poller, _ body: @escaping @Sendable () -> Void) -> Poller.Registration? {
        var status = stat()
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return nil }
        // The writing end of a pipe is never readable; the poller reports the loss of the reader unasked.
        return try? poller.register(number, interest: .readable) { _ in body() }
    }

    /// The identity of the file; nil where the system does not say.
    package var identity: FileStatus.Identity? {
        var status = stat()
        return fstat(number, &status) == 0 ? FileStatus(status).identity : nil
    }

    /// Reads what there is, waiting for the first byte; returns no bytes at the end.
    package func read(upTo count: Int) throws(SystemFileError) -> [UInt8] {
        // Before a process has opened a named pipe for writing, the pipe reads as if it were at its end.
        if isNamedPipe { waitUntilReady(number, for: POLLIN) }
        var failure: CInt?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while true {
                let result = readFile(number, buffer.baseAddress, count)
                if result >= 0 {
                    filled = result
                    return
                }
                switch errno {
                case EINTR: continue
                // Another process that shares the terminal may have made it non-blocking.
                case EAGAIN: waitUntilReady(number, for: POLLIN)
                default:
                    failure = errno
                    return
                }
            }
        }
        if let failure { throw SystemFileError(failure) }
        return bytes
    }

    /// What became of bytes that were to be written.
    package enum WriteOutcome: Sendable, Hashable {
        case written
        /// Why the rest is not written, and how many bytes were written.
        case failed(SystemFileError, after: Int)
    }

    /// Writes all of the bytes after what was written before, however long that takes.
    ///
    /// - Throws: The reason why the rest cannot be written; some of the bytes may have been written.
    package func append(_ bytes: [UInt8]) throws(SystemFileError) {
        if case .failed(let failure, _) = write(bytes) { throw failure }
    }

    /// Gives the file these permissions, whatever the umask is.
    func setPermissions(_ permissions: mode_t) throws(SystemFileError) {
        var status = stat()
        // A file system in which all files have the same permissions may refuse to set any.
        if fstat(number, &status) == 0, status.st_mode & 0o777 == permissions { return }
        guard retryingInterrupted({ fchmod(number, permissions) }) == 0 else { throw SystemFileError(errno) }
    }

    /// Returns when the written bytes lie on the medium, if the file is of a kind that has one; on Darwin they may
    /// still lie in the drive's memory.
    package func synchronize() throws(SystemFileError) {
        guard retryingInterrupted({ fsync(number) }) != 0 else { return }
        let failure = errno
        // A pipe or a terminal has no medium.
        if failure != EINVAL, failure != ENOTSUP, failure != EROFS { throw SystemFileError(failure) }
    }

    /// Writes all of the bytes, however long that takes.
    package func write(_ bytes: [UInt8]) -> WriteOutcome {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let slice = UnsafeRawBufferPointer(rebasing: rest)
                let count = writeFile(number, slice.baseAddress, slice.count)
                if count >= 0 {
                    rest = rest.dropFirst(count)
                    continue
                }
                switch errno {
                case EINTR: continue
                case EAGAIN: waitUntilReady(number, for: POLLOUT)
                case let code: return .failed(SystemFileError(code), after: bytes.count - rest.count)
                }
            }
            return .written
        }
    }
}

/// Why a file cannot be read or written, as the end of a sentence, such as `Permission denied`.
package struct SystemFileError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String
    package let isDirectory: Bool
    /// Whether no process reads what is written any more.
    package let hasNoReader: Bool
    /// Whether there is no room now; there may be room later.
    package let hasNoRoom: Bool

    package init(_ description: String) {
        self.description = description
        (isDirectory, hasNoReader, hasNoRoom) = (false, false, false)
    }

    init(_ number: CInt) {
        isDirectory = number == EISDIR
        hasNoReader = number == EPIPE
        hasNoRoom = SystemError.fullDisk.contains(number)
        description = strerror(number).map { String(cString: $0) } ?? "error \(number)"
    }
}

// Inside the type, methods of the same names hide the system calls.
private func openFile(_ path: String, _ flags: CInt) -> CInt { open(path, flags) }

private func createFile(_ path: String, _ flags: CInt, _ mode: mode_t) -> CInt { open(path, flags, mode) }

private func readFile(_ number: CInt, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(number, buffer, count)
}

private func writeFile(_ number: CInt, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    write(number, buffer, count)
}

import CBridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// An open descriptor with exactly one owner, closed once: when the owner says so, or goes away.
package struct FileDescriptor: ~Copyable, Sendable {
    /// The number, for calls made while the owner lives.
    package let rawValue: CInt

    /// Takes ownership of `rawValue`, which no other code may close from now on.
    package init(owning rawValue: CInt) {
        self.rawValue = rawValue
    }

    deinit {
        closeOnce(rawValue)
    }

    /// Closes the descriptor now instead of at the end of its owner's life.
    package consuming func close() {}

    /// Gives up ownership: the caller closes the number from now on.
    package consuming func release() -> CInt {
        let number = rawValue
        discard self
        return number
    }

    /// A second descriptor for the same open file, close-on-exec, with a number of at least `minimum`.
    package static func duplicate(_ number: CInt, atLeast minimum: CInt = 0) throws(SystemError) -> FileDescriptor {
        let copy = try SystemError.check("duplicating descriptor \(number)") {
            fcntl(number, F_DUPFD_CLOEXEC, minimum)
        }
        return FileDescriptor(owning: copy)
    }

    /// Keeps `number` from the programs that this process starts.
    package static func setCloseOnExec(_ number: CInt) throws(SystemError) {
        try SystemError.check("setting close-on-exec on descriptor \(number)") { fcntl(number, F_SETFD, FD_CLOEXEC) }
    }

    /// Makes reads and writes through this open file return without waiting.
    ///
    /// Duplicates of the descriptor share this setting.
    package static func setNonBlocking(_ number: CInt) throws(SystemError) {
        try setBlocking(number, false)
    }

    /// Sets whether reads and writes through this open file wait.
    ///
    /// Duplicates of the descriptor share this setting.
    package static func setBlocking(_ number: CInt, _ isBlocking: Bool) throws(SystemError) {
        let flags = try SystemError.check("reading the flags of descriptor \(number)") { fcntl(number, F_GETFL) }
        try SystemError.check("making descriptor \(number) \(isBlocking ? "" : "non-")blocking") {
            fcntl(number, F_SETFL, isBlocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK)
        }
    }

    /// Copies what lies at `offset` of a file, and returns how many bytes; if fewer than asked for, no more are there.
    func read(
        at offset: Int,
        into buffer: UnsafeMutableRawBufferPointer,
        _ operation: @autoclosure () -> String
    ) throws(SystemError) -> Int {
        let number = rawValue
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = try SystemError.check(operation()) {
                pread(number, rest.baseAddress, rest.count, off_t(offset + done))
            }
            if count == 0 { break }
            done += count
        }
        return done
    }

    package static func isOpen(_ number: CInt) -> Bool {
        fcntl(number, F_GETFD) != -1
    }

    package static func isSocket(_ number: CInt) -> Bool {
        var status = stat()
        return fstat(number, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }

    /// A pipe whose two ends are close-on-exec.
    package static func pipe() throws(SystemError) -> Pipe {
        let ends = try makePair("making a pipe", cbp_pipe)
        return Pipe(reading: FileDescriptor(owning: ends.0), writing: FileDescriptor(owning: ends.1))
    }

    /// The two ends of a pipe.
    @frozen @usableFromInline
    package struct Pipe: ~Copyable, Sendable {
        package let reading: FileDescriptor
        package let writing: FileDescriptor
    }

    /// Two new descriptors, without an owner yet, from a call that fills in an array of two.
    static func makePair(
        _ operation: StaticString,
        _ make: (UnsafeMutablePointer<CInt>) -> CInt
    ) throws(SystemError) -> (CInt, CInt) {
        try withUnsafeTemporaryAllocation(of: CInt.self, capacity: 2) { numbers throws(SystemError) in
            guard let first = numbers.baseAddress, make(first) == 0 else {
                throw SystemError.current("\(operation)")
            }
            return (numbers[0], numbers[1])
        }
    }
}

/// A descriptor that several threads use at once, closed when the last of them releases it.
///
/// Closing a number while another thread is about to use it would let that thread write into whatever is opened next
/// under the same number. Here the number stays taken for as long as any code holds the object; to end a connection
/// earlier, shut it down.
package final class SharedDescriptor: Sendable {
    private let descriptor: FileDescriptor

    package init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }

    /// The number, valid as long as the object lives; `withRawValue(_:)` keeps the object alive during a call.
    package var rawValue: CInt { descriptor.rawValue }

    /// Makes calls with the number, which stays open until `body` has returned.
    package func withRawValue<R: ~Copyable, E: Error>(_ body: (CInt) throws(E) -> R) throws(E) -> R {
        defer { withExtendedLifetime(self) {} }
        return try body(descriptor.rawValue)
    }
}

private func closeOnce(_ number: CInt) {
    // EINTR causes no second close: Linux has freed the number by then, and another owner may already have it.
    #if canImport(Glibc)
    _ = Glibc.close(number)
    #else
    _ = Darwin.close(number)
    #endif
}

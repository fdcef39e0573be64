import CNATS
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The event loop of one connection of the client at a time: what the client wants, and the wait for it.
///
/// The client says what it wants from any of its threads, with its own locks held. So nothing here takes a lock.
final class ReaderLoop: Sendable {
    /// What has ended a wait.
    enum End {
        /// The socket can be read, or has failed, which a read finds out.
        case readable
        /// The client wants something else, or ``wake()`` was called.
        case woken
        case timeOver
    }

    private let socket = Atomic<CInt>(-1)
    private let isWritingWanted = Atomic(false)
    /// The two ends of a pipe, in which one byte wakes up the thread that waits.
    private let bell: (reading: CInt, writing: CInt)

    init() {
        var ends: [CInt] = [-1, -1]
        // Without descriptors the process can have no connection either.
        guard pipe(&ends) == 0 else { preconditionFailure("no pipe can be made: errno \(errno)") }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        bell = (ends[0], ends[1])
    }

    deinit {
        close(bell.reading)
        close(bell.writing)
    }

    /// Whether the client has a connection to be read.
    var isAttached: Bool { socket.load(ordering: .acquiring) >= 0 }

    /// Whether the client has bytes to write.
    var isWriting: Bool { isWritingWanted.load(ordering: .acquiring) }

    /// Makes this the event loop of the connection that is made with these options.
    ///
    /// This object has to live until that connection has been freed.
    func attach(to options: OpaquePointer?) throws(NATSError) {
        try NATSError.check(
            natsOptions_SetEventLoop(
                options,
                Unmanaged.passUnretained(self).toOpaque(),
                { object, loop, _, socket in
                    object?.pointee = loop
                    ReaderLoop.with(loop) { $0.begin(socket) }
                    return NATS_OK
                },
                // The client stops reading only at the connection's end, and then it detaches.
                { _, _ in NATS_OK },
                { loop, isWanted in
                    ReaderLoop.with(loop) { $0.wantsWriting(isWanted) }
                    return NATS_OK
                },
                { loop in
                    ReaderLoop.with(loop) { $0.end() }
                    return NATS_OK
                }
            )
        )
    }

    private static func with(_ loop: UnsafeMutableRawPointer?, _ body: (ReaderLoop) -> Void) {
        if let loop { body(Unmanaged<ReaderLoop>.fromOpaque(loop).takeUnretainedValue()) }
    }

    private func begin(_ socket: CInt) {
        isWritingWanted.store(false, ordering: .relaxed)
        self.socket.store(socket, ordering: .releasing)
    }

    private func wantsWriting(_ isWanted: Bool) {
        isWritingWanted.store(isWanted, ordering: .releasing)
        if isWanted { wake() }
    }

    private func end() {
        socket.store(-1, ordering: .releasing)
        wake()
    }

    /// Ends the wait of the thread that waits, or its next one.
    func wake() {
        // A full pipe wakes it up, too.
        _ = write(bell.writing, [0], 1)
    }

    /// Waits until there is something to read, or the client wants something else.
    ///
    /// - Parameter time: how long this waits, in milliseconds; nil for no limit.
    func waitUntilReadable(atMost time: Int?) -> End {
        let events = isWriting ? POLLIN | POLLOUT : POLLIN
        let socket = pollfd(fd: socket.load(ordering: .acquiring), events: Int16(events), revents: 0)
        return wait(for: socket, atMost: time.map { CInt($0) } ?? -1)
    }

    /// Waits until ``wake()``, or for a time in milliseconds.
    func wait(atMost time: Int) { _ = wait(for: pollfd(fd: -1, events: 0, revents: 0), atMost: CInt(time)) }

    private func wait(for socket: pollfd, atMost time: CInt) -> End {
        var waits = (socket, pollfd(fd: bell.reading, events: Int16(POLLIN), revents: 0))
        let count = withUnsafeMutablePointer(to: &waits) {
            $0.withMemoryRebound(to: pollfd.self, capacity: 2) { poll($0, 2, time) }
        }
        // A signal has ended a wait with a negative count.
        guard count > 0 else { return count == 0 ? .timeOver : .woken }
        if waits.1.revents != 0 { silence() }
        return Int32(waits.0.revents) & ~POLLOUT != 0 ? .readable : .woken
    }

    /// Forgets the calls of ``wake()`` so far.
    func silence() {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { bytes in
            while read(bell.reading, bytes.baseAddress, bytes.count) == bytes.count {}
        }
    }
}

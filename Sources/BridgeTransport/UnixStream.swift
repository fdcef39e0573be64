package import BridgePlatform
import Locks
import Synchronization

/// A stream over a connected Unix domain socket.
package final class UnixStream: ByteStream, @unchecked Sendable {
    // Sendable: what is mutable is atomic or guarded by `lock`; the rest is constant.
    private let descriptor: SharedDescriptor
    private let poller: Poller
    private let lock = Lock()
    private var registration: Poller.Registration?
    private var waiting: (@Sendable () -> Void)?
    package let memory: MemoryFile?
    package let shelf: MemoryFile?

    /// Whether the stream ends if the peer passes descriptors.
    private let noticesDescriptors: Bool

    /// How many writes have begun, and how many had begun when the last read began.
    private let writes = Atomic<UInt>(0)
    private let writesBeforeRead = Atomic<UInt>(0)

    /// Takes ownership of the socket, and of the memory that goes with it.
    package init(
        _ socket: consuming FileDescriptor,
        memory: MemoryFile? = nil,
        shelf: MemoryFile? = nil,
        poller: Poller
    ) {
        self.memory = memory
        self.shelf = shelf
        descriptor = SharedDescriptor(socket)
        noticesDescriptors = false
        self.poller = poller
    }

    /// Takes ownership of a socket to a peer that this process has not started; the stream ends if the peer passes
    /// descriptors.
    package init(untrusted socket: SharedDescriptor, poller: Poller) {
        memory = nil
        shelf = nil
        descriptor = socket
        noticesDescriptors = true
        self.poller = poller
    }

    deinit {
        registration?.cancel()
    }

    /// Waits for bytes and reads them; it waits in `poll` if this side writes more than it reads.
    ///
    /// On Linux a thread that is blocked in a read is woken each time that the peer takes a write of this side off the
    /// socket, and finds nothing to read. With `poll`, a stream that writes much pays one more system call for each
    /// read, and waits undisturbed.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome {
        let before = writes.load(ordering: .relaxed)
        let isMostlyWriting = before &- writesBeforeRead.exchange(before, ordering: .relaxed) > 1
        if isMostlyWriting { UnixSocket.waitUntilReadable(descriptor.rawValue) }
        if noticesDescriptors { return UnixSocket.receiveNoticingDescriptors(descriptor.rawValue, into: buffer) }
        return UnixSocket.receive(descriptor.rawValue, into: buffer, blocking: true)
    }

    package func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
        writes.wrappingAdd(1, ordering: .relaxed)
        return UnixSocket.send(descriptor.rawValue, pieces: pieces)
    }

    /// Registers with the poller at the first call, so only a link whose writes would block enters the poller.
    package func whenWritable(_ body: @escaping @Sendable () -> Void) {
        do {
            // The registration is stored before it can fire: the body that it calls may at once wait again.
            let known = try lock.withLock { () throws(SystemError) in
                waiting = body
                if let registration { return registration }
                let made = try poller.register(descriptor.rawValue, interest: []) { [weak self] _ in
                    self?.becameWritable()
                }
                registration = made
                return made
            }
            try known.update(.writable)
        } catch {
            // No room in the poller: end the stream rather than stall it. The reader sees the end and reports it.
            close()
            poller.perform { [self] in becameWritable() }
        }
    }

    private func becameWritable() {
        let (body, registration) = lock.withLock {
            defer { waiting = nil }
            return (waiting, self.registration)
        }
        // The same call has just succeeded for this descriptor. If it fails, one more wake-up finds nothing to do.
        try? registration?.update([])
        body?()
    }

    package func finishWriting() {
        _ = UnixSocket.shutdownWrite(descriptor.rawValue)
    }

    package func finishReading() {
        _ = UnixSocket.shutdownRead(descriptor.rawValue)
    }

    package func close() {
        _ = UnixSocket.shutdownBoth(descriptor.rawValue)
    }
}

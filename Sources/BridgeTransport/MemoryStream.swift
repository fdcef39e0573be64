package import BridgePlatform
import BridgeProtocol
import Locks

/// One end of a stream that lies in a process and behaves like a socket: bounded buffer, short writes, visible end.
package final class MemoryStream: ByteStream, Sendable {
    private let incoming: MemoryPipe
    private let outgoing: MemoryPipe
    private let poller: Poller
    package let memory: MemoryFile?
    package let shelf: MemoryFile?

    private init(
        incoming: MemoryPipe,
        outgoing: MemoryPipe,
        memory: MemoryFile?,
        shelf: MemoryFile?,
        poller: Poller
    ) {
        self.incoming = incoming
        self.outgoing = outgoing
        self.memory = memory
        self.shelf = shelf
        self.poller = poller
    }

    /// Two connected ends, with memory for an outbox and for large events, as between a host and a worker.
    ///
    /// - Parameters:
    ///   - capacity: how many bytes may be on their way in each direction; a socket's default is of this order.
    ///   - poller: tells the first end when writing may go on.
    ///   - other: the same for the second end; nil if one poller serves both.
    package static func pair(
        capacity: Int = 200 << 10,
        poller: Poller,
        other: Poller? = nil
    ) -> (MemoryStream, MemoryStream) {
        let there = MemoryPipe(capacity: capacity)
        let back = MemoryPipe(capacity: capacity)
        let memory = MemoryFile.forOutbox(LinkLimits())
        let shelf = MemoryFile.forShelf()
        return (
            MemoryStream(incoming: back, outgoing: there, memory: memory, shelf: shelf, poller: poller),
            MemoryStream(incoming: there, outgoing: back, memory: memory, shelf: shelf, poller: other ?? poller)
        )
    }

    deinit {
        close()
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome {
        incoming.read(into: buffer)
    }

    package func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
        outgoing.write(pieces)
    }

    package func whenWritable(_ body: @escaping @Sendable () -> Void) {
        let poller = poller
        outgoing.whenWritable { poller.perform(body) }
    }

    package func finishWriting() {
        outgoing.endWriting()
    }

    package func finishReading() {
        incoming.endWriting()
    }

    package func close() {
        outgoing.endWriting()
        incoming.endReading()
    }
}

/// One direction of a stream in memory.
private final class MemoryPipe: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private let changed: Condition
    private let capacity: Int
    @exclusivity(unchecked) private var bytes: [UInt8] = []
    @exclusivity(unchecked) private var isEnded = false
    @exclusivity(unchecked) private var isReaderGone = false
    @exclusivity(unchecked) private var waiting: (@Sendable () -> Void)?

    init(capacity: Int) {
        self.capacity = capacity
        changed = Condition(lock: lock)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome {
        let (outcome, waiter): (IOOutcome, (@Sendable () -> Void)?) = lock.withLock {
            while bytes.isEmpty, !isEnded, !isReaderGone { changed.wait() }
            guard !bytes.isEmpty, !isReaderGone else { return (.endOfStream, nil) }
            let count = min(bytes.count, buffer.count)
            bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            bytes.removeFirst(count)
            defer { waiting = nil }
            return (.transferred(count), waiting)
        }
        waiter?()
        return outcome
    }

    func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
        lock.withLock {
            guard !isEnded, !isReaderGone else { return .endOfStream }
            var room = capacity - bytes.count
            guard room > 0 else { return .wouldBlock }
            var written = 0
            for piece in pieces where room > 0 {
                let count = min(piece.count, room)
                bytes.append(contentsOf: piece[..<count])
                room -= count
                written += count
            }
            changed.broadcast()
            return .transferred(written)
        }
    }

    func whenWritable(_ body: @escaping @Sendable () -> Void) {
        let isReady = lock.withLock {
            if isEnded || isReaderGone || bytes.count < capacity { return true }
            waiting = body
            return false
        }
        if isReady { body() }
    }

    func endWriting() {
        wake { isEnded = true }
    }

    func endReading() {
        wake { isReaderGone = true }
    }

    private func wake(_ change: () -> Void) {
        let waiter = lock.withLock {
            change()
            changed.broadcast()
            defer { waiting = nil }
            return waiting
        }
        waiter?()
    }
}

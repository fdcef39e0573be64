import CBridgePlatform
import Locks

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Captures what another process prints: reads it line by line, at whatever speed that process prints.
///
/// Each time the pipe has something, the capture reads a bounded number of bytes. It hands each line to the caller's
/// closure, which decides what is kept. So while the capture reads, the writer waits for long only if something holds
/// up the poller's thread. In a flood, or in a line without end, the capture keeps no more bytes than one line may
/// have, and the poller still gets to its other work.
///
/// `@unchecked Sendable` is sound: `registration` and `hasEnded` are touched under `lock`; `assembler` is touched on
/// the poller's thread only.
package final class LinePipe: @unchecked Sendable {
    /// A line without the `\n` or `\r\n` at its end, or a piece of a line that was too long.
    package struct Line: Equatable, Sendable {
        package let bytes: [UInt8]

        /// Whether the same line goes on in the next piece.
        package let isContinued: Bool

        package init(bytes: [UInt8], isContinued: Bool) {
            self.bytes = bytes
            self.isContinued = isContinued
        }

        /// The line as text for people; bytes that are not valid UTF-8 are replaced.
        package var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    package struct Limits: Sendable {
        /// How many bytes a line may have; the rest of a longer line comes in further pieces.
        package var lineLength = 16 * 1024

        /// How many bytes at most are read before the poller's other handlers have a turn; `finish()` may read more.
        package var bytesPerRound = 64 * 1024

        package init() {}
    }

    private let descriptor: SharedDescriptor
    private let poller: Poller
    private let limits: Limits
    private let onLine: @Sendable (Line) -> Void
    private let onEnd: @Sendable () -> Void
    private var assembler: LineAssembler
    private let lock = Lock()
    private var registration: Poller.Registration?
    private var hasEnded = false

    /// Reads from `readingEnd` until all writers have closed their ends or `finish()` is called, then calls `onEnd`.
    ///
    /// If the poller stops first, `onEnd` is not called. Both closures are called on the poller's thread. The capture
    /// lives until it ends or the poller stops, even if the caller does not keep it.
    package static func capture(
        _ readingEnd: consuming FileDescriptor,
        on poller: Poller,
        limits: Limits = Limits(),
        onLine: @escaping @Sendable (Line) -> Void,
        onEnd: @escaping @Sendable () -> Void = {}
    ) throws(SystemError) -> LinePipe {
        // This changes only the reading end: the writer's end is another open file and stays blocking.
        try FileDescriptor.setNonBlocking(readingEnd.rawValue)
        let pipe = LinePipe(SharedDescriptor(readingEnd), poller, limits, onLine, onEnd)
        let registration = try poller.register(pipe.descriptor.rawValue, interest: .readable) { _ in
            pipe.read(upTo: pipe.limits.bytesPerRound)
        }
        pipe.begin(registration)
        return pipe
    }

    private init(
        _ descriptor: SharedDescriptor,
        _ poller: Poller,
        _ limits: Limits,
        _ onLine: @escaping @Sendable (Line) -> Void,
        _ onEnd: @escaping @Sendable () -> Void
    ) {
        self.descriptor = descriptor
        self.poller = poller
        self.limits = limits
        self.onLine = onLine
        self.onEnd = onEnd
        assembler = LineAssembler(maximumLength: limits.lineLength)
    }

    /// Reads what lies in the pipe, hands over an unfinished line, calls `onEnd` and stops.
    ///
    /// This is for the time after the writer's death, when one of the writer's children may hold the pipe open for
    /// ever. The reading happens soon, on the poller's thread, and what comes during it is left in the pipe. After the
    /// end of the capture, or of the poller, this does nothing.
    package func finish() {
        poller.perform { [self] in
            // This can be more than a round, because a writer may have enlarged its pipe.
            read(upTo: unread)
            end()
        }
    }

    /// How many bytes lie in the pipe; a round's worth if the system does not say.
    private var unread: Int {
        let count = descriptor.withRawValue { cbp_unread_bytes($0) }
        return count < 0 ? limits.bytesPerRound : Int(count)
    }

    private func begin(_ registration: Poller.Registration) {
        let isLate = lock.withLock {
            if !hasEnded { self.registration = registration }
            return hasEnded
        }
        if isLate { registration.cancel() }
    }

    private func read(upTo limit: Int) {
        var remaining = limit
        withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: 16) { buffer in
            while remaining > 0, !lock.withLock({ hasEnded }) {
                let count = descriptor.withRawValue { number in
                    retryingInterrupted { systemRead(number, buffer.baseAddress, min(buffer.count, remaining)) }
                }
                if count < 0, errno == EAGAIN { return }
                // The end, or an error that a pipe cannot have: nothing more will come.
                guard count > 0 else { return end() }
                remaining -= count
                assembler.add(UnsafeRawBufferPointer(rebasing: buffer[..<count]), onLine)
            }
        }
    }

    private func end() {
        let (isFirst, registration) = lock.withLock {
            defer { hasEnded = true }
            return (!hasEnded, self.registration.take())
        }
        guard isFirst else { return }
        registration?.cancel()
        assembler.flush(onLine)
        onEnd()
    }
}

private func systemRead(_ descriptor: CInt, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, buffer, count)
}

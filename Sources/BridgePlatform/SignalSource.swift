import CBridgePlatform
import Locks

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Signals that ask a program for something (SIGTERM, SIGINT, SIGHUP), turned into calls on a poller's thread.
///
/// For programs only: a library leaves the process's signals alone. The signal handler writes one byte into a pipe.
/// That pipe stays open for the life of the process, because a signal could be on its way through it at any moment;
/// there is one pipe for each signal ever installed.
///
/// `@unchecked Sendable` is sound: the mutable properties are touched under `lock` only.
package final class SignalSource: @unchecked Sendable {
    private let signals: [CInt]
    private let lock = Lock()
    private var registrations: [Poller.Registration] = []
    private var hasEnded = false

    private init(_ signals: [CInt]) {
        self.signals = signals
    }

    /// Calls `handler` with the signal's number for each arrival.
    ///
    /// Arrivals so close that the kernel merges them count as one.
    ///
    /// A signal can have one source at a time; a second source is refused with EBUSY. SIGHUP stays ignored if the
    /// process was started with SIGHUP ignored, as by `nohup`.
    package static func install(
        _ signals: [CInt],
        on poller: Poller,
        handler: @escaping @Sendable (CInt) -> Void
    ) throws(SystemError) -> SignalSource {
        let wanted = signals.filter { $0 != SIGHUP || cbp_signal_is_ignored($0) == 0 }
        let source = SignalSource(wanted)
        try SignalPipes.shared.claim(wanted)
        var caught: [CInt] = []
        do throws(SystemError) {
            for signal in wanted {
                let pipe = try SignalPipes.shared.pipe(for: signal)
                let registration = try poller.register(pipe.reading, interest: .readable) { _ in
                    for _ in 0..<takeArrivals(from: pipe.reading) { handler(signal) }
                }
                source.lock.withLock { source.registrations.append(registration) }
                try SystemError.check("catching signal \(signal)") { cbp_signal_catch(signal, pipe.writing) }
                caught.append(signal)
            }
        } catch {
            source.end(caught: caught)
            throw error
        }
        return source
    }

    /// Puts the former dispositions back.
    ///
    /// The handler is not running and not called again when this returns, under the terms of
    /// `Poller.Registration.cancel()`.
    package func cancel() {
        end(caught: signals)
    }

    /// Makes a write to a pipe or socket without a reader an error and not a deadly signal, in the whole process.
    package static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }

    /// Makes a write beyond this process's limit of file size an error and not a deadly signal, in the whole process.
    package static func ignoreFileSizeLimit() {
        signal(SIGXFSZ, SIG_IGN)
    }

    private func end(caught: [CInt]) {
        let ending = lock.withLock { () -> [Poller.Registration]? in
            defer { hasEnded = true }
            return hasEnded ? nil : registrations
        }
        guard let ending else { return }
        for signal in caught { cbp_signal_restore(signal) }
        for registration in ending { registration.cancel() }
        SignalPipes.shared.release(signals)
    }
}

/// The pipes that signals write into, made when first needed and never closed.
///
/// `@unchecked Sendable` is sound: the properties are touched under `lock` only.
private final class SignalPipes: @unchecked Sendable {
    static let shared = SignalPipes()

    private let lock = Lock()
    private var pipes: [CInt: (reading: CInt, writing: CInt)] = [:]
    private var claimed: Set<CInt> = []

    /// Reserves signals for one source.
    func claim(_ signals: [CInt]) throws(SystemError) {
        try lock.withLock { () throws(SystemError) in
            for (index, signal) in signals.enumerated()
            where claimed.contains(signal) || signals[..<index].contains(signal) {
                throw SystemError(code: EBUSY, operation: "catching signal \(signal) a second time")
            }
            claimed.formUnion(signals)
        }
    }

    func release(_ signals: [CInt]) {
        lock.withLock { claimed.subtract(signals) }
    }

    /// The pipe of a signal, empty.
    func pipe(for signal: CInt) throws(SystemError) -> (reading: CInt, writing: CInt) {
        try lock.withLock { () throws(SystemError) in
            if let pipe = pipes[signal] {
                // Arrivals that a former source has not read are not meant for this source.
                while takeArrivals(from: pipe.reading) > 0 {}
                return pipe
            }
            let made = try FileDescriptor.pipe()
            try FileDescriptor.setNonBlocking(made.reading.rawValue)
            try FileDescriptor.setNonBlocking(made.writing.rawValue)
            let pipe = (made.reading.release(), made.writing.release())
            pipes[signal] = pipe
            return pipe
        }
    }
}

/// Takes up to 64 arrivals of a signal out of its pipe and says how many there were.
private func takeArrivals(from pipe: CInt) -> Int {
    withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
        max(0, retryingInterrupted { read(pipe, buffer.baseAddress, buffer.count) })
    }
}

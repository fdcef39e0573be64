import BridgePlatform
import Locks

/// Tells systemd, or another manager that speaks its protocol, that the bridge is ready, how it is, that it is alive,
/// and that it stops.
///
/// One thread tells everything, so that no other thread waits for a manager that is slow, and so that signs of life
/// come from a thread that has just asked the bridge for its state: where that hangs, they stay out, and the manager
/// acts on it. Of states that come faster than they can be told, the last one counts.
final class ServiceManager: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// How the bridge is, in a line that `systemctl status` shows.
    typealias Look = @Sendable () -> String

    private let socket: ServiceSocket
    /// Between two signs of life, in nanoseconds; nil if the manager waits for none.
    private let watchdogInterval: UInt64?
    private let look: Look
    private let onFailure: @Sendable (SystemError) -> Void
    private let lock = Lock()
    private let changed: Condition
    private var messages: [String] = []
    private var hasNewState = false
    private var isReady = false
    private var isStopping = false
    /// What is said in front of the state.
    private var note: String?
    private var isTelling = false
    private var isEnded = false

    /// - Parameters:
    ///   - environment: reads a variable: `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` count.
    ///   - onFailure: called once if the manager cannot be told.
    /// - Returns: nil if no manager wants to know.
    init?(
        environment: (String) -> String?,
        process: Int32 = CurrentProcess.identifier,
        look: @escaping Look,
        onFailure: @escaping @Sendable (SystemError) -> Void
    ) throws(SystemError) {
        guard let socket = ServiceSocket(name: environment("NOTIFY_SOCKET")) else { return nil }
        self.socket = socket
        watchdogInterval = Self.watchdogInterval(environment, process: process)
        self.look = look
        self.onFailure = onFailure
        changed = Condition(lock: lock)
        try PlatformThread.start(name: "service") { [self] in tellForEver() }
    }

    /// Half of the time after which the manager takes this process for dead, as sd_watchdog_enabled(3) advises.
    static func watchdogInterval(_ environment: (String) -> String?, process: Int32) -> UInt64? {
        guard let text = environment("WATCHDOG_USEC"), let microseconds = UInt64(text), microseconds > 0 else {
            return nil
        }
        // Meant for another process, such as a shell that has started this one.
        if let pid = environment("WATCHDOG_PID"), Int32(pid) != process { return nil }
        let (nanoseconds, isTooLong) = microseconds.multipliedReportingOverflow(by: 500)
        return isTooLong ? nil : nanoseconds
    }

    /// The bridge has come up.
    func becameReady() {
        lock.withLock { isReady = true }
        enqueue("READY=1")
    }

    /// The configuration is read again, sd_notify(3); a bridge that is still coming up is not ready all the same.
    func beganReloading() {
        guard lock.withLock({ isReady }) else { return }
        // By it the manager tells this reload from the one before its signal.
        enqueue("RELOADING=1\nMONOTONIC_USEC=\(MonotonicClock.now() / 1_000)")
    }

    /// The bridge goes by the new configuration, or by the one before.
    ///
    /// - Parameter note: what stands in front of its state until the next reload.
    func endedReloading(note: String?) {
        let isReady = lock.withLock {
            self.note = note
            return self.isReady
        }
        if isReady { enqueue("READY=1") } else { stateChanged() }
    }

    /// The state has changed.
    func stateChanged() {
        lock.withLock {
            hasNewState = true
            changed.broadcast()
        }
    }

    /// The bridge stops.
    func beganStopping() {
        enqueue("STOPPING=1")
        lock.withLock { isStopping = true }
    }

    /// Returns when everything has been told; nothing more is.
    func finish() {
        lock.withLock {
            isEnded = true
            changed.broadcast()
            while isTelling || !messages.isEmpty { changed.wait() }
        }
    }

    private func enqueue(_ message: String) {
        lock.withLock {
            // What has its end before it is neither ready nor reloading.
            guard !isStopping else { return }
            messages.append(message)
            hasNewState = true
            changed.broadcast()
        }
    }

    // MARK: - The thread

    private func tellForEver() {
        var hasFailed = false
        var told = ""
        // The first sign of life comes with the first news.
        var nextSign = watchdogInterval.map { MonotonicClock.now() + $0 }
        while var lines = waitForNews(until: nextSign) {
            if let watchdogInterval, let due = nextSign, due <= MonotonicClock.now() {
                lines.append("WATCHDOG=1")
                nextSign = MonotonicClock.now() + watchdogInterval
            }
            // Asked for each time: it is what shows that the bridge lives.
            let note = lock.withLock { self.note }
            let state = TerminalText.harmless((note.map { "\($0); " } ?? "") + look())
            if state != told { lines.append("STATUS=\(state)") }
            if !lines.isEmpty {
                do throws(SystemError) {
                    try socket.send(lines.joined(separator: "\n"))
                    told = state
                } catch {
                    if !hasFailed { onFailure(error) }
                    hasFailed = true
                }
            }
            lock.withLock {
                isTelling = false
                changed.broadcast()
            }
        }
    }

    /// - Returns: The next message, or none: each goes alone, as the manager does not know an order within one. Nil at
    ///   the end.
    private func waitForNews(until deadline: UInt64?) -> [String]? {
        lock.withLock {
            while messages.isEmpty, !hasNewState, !isEnded {
                guard let deadline else {
                    changed.wait()
                    continue
                }
                if !changed.wait(untilNanoseconds: deadline) || deadline <= MonotonicClock.now() { break }
            }
            guard !isEnded || !messages.isEmpty else { return nil }
            hasNewState = false
            isTelling = true
            return messages.isEmpty ? [] : [messages.removeFirst()]
        }
    }
}

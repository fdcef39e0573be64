import BridgePlatform
import Locks

/// Reports the readiness, the state and the end of the bridge to systemd, or to another manager with its protocol, and
/// sends signs of life.
///
/// One thread sends all reports, so no other thread waits for a slow manager. Before each sign of life this thread asks
/// the bridge for its state. If the bridge hangs, no signs come, and the manager acts. If states come faster than they
/// can be reported, only the last state is reported.
final class ServiceManager: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// Describes the bridge's state in a line that `systemctl status` shows.
    typealias Look = @Sendable () -> String

    private let socket: ServiceSocket
    /// The time between two signs of life, in nanoseconds; nil if the manager expects none.
    private let watchdogInterval: UInt64?
    private let look: Look
    private let onFailure: @Sendable (SystemError) -> Void
    private let lock = Lock()
    private let changed: Condition
    private var messages: [String] = []
    private var hasNewState = false
    private var isReady = false
    private var isStopping = false
    /// A text that is reported before the state; nil for none.
    private var note: String?
    private var isTelling = false
    private var isEnded = false

    /// - Parameters:
    ///   - environment: reads a variable; it is asked for `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
    ///   - onFailure: called at the first report that cannot be sent.
    /// - Returns: Nil if no manager has asked for reports.
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

    /// Half the time after which the manager takes this process for dead, as sd_watchdog_enabled(3) advises.
    static func watchdogInterval(_ environment: (String) -> String?, process: Int32) -> UInt64? {
        guard let text = environment("WATCHDOG_USEC"), let microseconds = UInt64(text), microseconds > 0 else {
            return nil
        }
        // The watchdog was meant for another process, such as a shell that has started this one.
        if let pid = environment("WATCHDOG_PID"), Int32(pid) != process { return nil }
        let (nanoseconds, isTooLong) = microseconds.multipliedReportingOverflow(by: 500)
        return isTooLong ? nil : nanoseconds
    }

    /// Reports that the bridge has come up.
    func becameReady() {
        lock.withLock { isReady = true }
        enqueue("READY=1")
    }

    /// Reports that the configuration is being read again, as in sd_notify(3); does nothing before ``becameReady()``.
    func beganReloading() {
        guard lock.withLock({ isReady }) else { return }
        // The time shows the manager that the reload began after the manager's signal.
        enqueue("RELOADING=1\nMONOTONIC_USEC=\(MonotonicClock.now() / 1_000)")
    }

    /// Reports that the reload has ended, whether the bridge follows the new configuration or still the previous one.
    ///
    /// - Parameter note: a text that is reported before the state until the next reload.
    func endedReloading(note: String?) {
        let isReady = lock.withLock {
            self.note = note
            return self.isReady
        }
        if isReady { enqueue("READY=1") } else { stateChanged() }
    }

    /// Makes the thread report the new state.
    func stateChanged() {
        lock.withLock {
            hasNewState = true
            changed.broadcast()
        }
    }

    /// Reports that the bridge stops.
    func beganStopping() {
        enqueue("STOPPING=1")
        lock.withLock { isStopping = true }
    }

    /// Ends the reporting, and returns when everything has been sent.
    func finish() {
        lock.withLock {
            isEnded = true
            changed.broadcast()
            while isTelling || !messages.isEmpty { changed.wait() }
        }
    }

    private func enqueue(_ message: String) {
        lock.withLock {
            // A bridge that is stopping is neither ready nor reloading.
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
        // The first sign of life comes one interval after the thread's start.
        var nextSign = watchdogInterval.map { MonotonicClock.now() + $0 }
        while var lines = waitForNews(until: nextSign) {
            if let watchdogInterval, let due = nextSign, due <= MonotonicClock.now() {
                lines.append("WATCHDOG=1")
                nextSign = MonotonicClock.now() + watchdogInterval
            }
            // The bridge is asked each time, as its answer shows that it lives.
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

    /// Waits for the next message, a new state, or the deadline.
    ///
    /// - Returns: At most one message, as the manager ignores the order within one notification; nil at the end.
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

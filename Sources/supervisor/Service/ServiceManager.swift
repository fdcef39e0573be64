import BridgePlatform
import Locks

/// Reports the readiness, the state and the end of the bridge to systemd, or to another manager with its protocol, and
/// sends signs of life.
///
/// One thread sends all reports, so no other thread waits for a slow manager, except in ``finish()``. Before each sign
/// of life this thread asks the bridge for its state. If the bridge hangs, no signs come, and the manager acts. If
/// states come faster than they can be reported, only the last state is reported. What the manager does not take is
/// sent again with the next report, or after a second.
final class ServiceManager: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// Describes the bridge's state in a line that `systemctl status` shows.
    typealias Look = @Sendable () -> String

    /// How long the thread waits before it sends again what the manager has not taken, in nanoseconds.
    private static let pause: UInt64 = 1_000_000_000

    private let socket: ServiceSocket
    /// The time between two signs of life, in nanoseconds; nil if the manager expects none.
    private let watchdogInterval: UInt64?
    private let look: Look
    private let onFailure: @Sendable (SystemError) -> Void
    private let lock = Lock()
    private let changed: Condition
    private var messages = ServiceMessages()
    private var hasNews = false
    /// A text that stands in front of the state; nil for none.
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
        // If the interval is longer than the clock can count, no sign is ever due.
        return isTooLong || nanoseconds > UInt64.max / 2 ? nil : nanoseconds
    }

    /// Reports that the bridge has come up.
    func becameReady() { report { $0.becameReady() } }

    /// Reports that the configuration is being read again, as in sd_notify(3); does nothing before ``becameReady()``.
    func beganReloading() {
        let now = MonotonicClock.now()
        report { $0.beganReloading(at: now) }
    }

    /// Reports that the reload has ended, whether the bridge follows the new configuration or still the previous one.
    ///
    /// - Parameter note: a text that stands in front of the state until the next reload.
    func endedReloading(note: String?) {
        lock.withLock {
            self.note = note
            messages.endedReloading()
            newsCame()
        }
    }

    /// Makes the thread report the new state.
    func stateChanged() { lock.withLock { newsCame() } }

    /// Reports that the bridge stops.
    func beganStopping() { report { $0.beganStopping() } }

    /// Ends the reporting, and returns when each message that was left has been sent, or tried once more in vain.
    ///
    /// A manager that hangs holds up each of these messages for a second.
    func finish() {
        lock.withLock {
            isEnded = true
            changed.broadcast()
            while isTelling || messages.next != nil { changed.wait() }
        }
    }

    private func report(_ change: (inout ServiceMessages) -> Void) {
        lock.withLock {
            change(&messages)
            newsCame()
        }
    }

    /// The caller holds the lock.
    private func newsCame() {
        hasNews = true
        changed.broadcast()
    }

    // MARK: - The thread

    private func tellForEver() {
        var hasFailed = false
        var told = ""
        // The first sign of life comes one interval after the thread's start.
        var nextSign = watchdogInterval.map { MonotonicClock.now() + $0 }
        // When to send again what could not be sent; nil if the last notification was sent.
        var nextTry: UInt64?
        while var lines = waitForNews(until: nextSign, nextTry) {
            let hasMessage = !lines.isEmpty
            var isSign = false
            if let watchdogInterval, let due = nextSign, due <= MonotonicClock.now() {
                lines.append("WATCHDOG=1")
                isSign = true
                nextSign = MonotonicClock.now() + watchdogInterval
            }
            // The thread asks the bridge each time, because an answer shows that the bridge lives.
            let (note, isLastTry) = lock.withLock { (self.note, isEnded) }
            let state = TerminalText.harmless((note.map { "\($0); " } ?? "") + look())
            if state != told { lines.append(Self.status(state, after: lines)) }
            nextTry = nil
            if !lines.isEmpty {
                do throws(SystemError) {
                    try socket.send(lines.joined(separator: "\n"))
                    told = state
                } catch {
                    if !hasFailed { onFailure(error) }
                    hasFailed = true
                    let time = MonotonicClock.now() + Self.pause
                    nextTry = time
                    if isSign { nextSign = nextSign.map { min($0, time) } }
                }
            }
            lock.withLock {
                // Once ``finish()`` has begun, no message is tried twice, because that call waits meanwhile.
                if hasMessage, nextTry == nil || isLastTry { messages.removeNext() }
                isTelling = false
                changed.broadcast()
            }
        }
    }

    /// The line with the state, cut to fit: the manager would ignore a notification that is too long.
    private static func status(_ state: String, after lines: [String]) -> String {
        let line = "STATUS=\(state)"
        let room = ServiceSocket.longestMessage - lines.reduce(0) { $0 + $1.utf8.count + 1 }
        guard line.utf8.count > room else { return line }
        let mark = "…"
        var left = room - mark.utf8.count
        let beginning = line.prefix { character in
            left -= character.utf8.count
            return left >= 0
        }
        return beginning + mark
    }

    /// Waits for the next message, a new state, or one of the deadlines.
    ///
    /// - Returns: At most one message, because the manager ignores the order within one notification; nil at the end.
    ///   The message stays the next one until it is removed.
    private func waitForNews(until nextSign: UInt64?, _ nextTry: UInt64?) -> [String]? {
        let deadline = [nextSign, nextTry].compactMap(\.self).min()
        return lock.withLock {
            // After a failure, the message that was not sent does not end the wait.
            while !hasNews, !isEnded, nextTry != nil || messages.next == nil {
                guard let deadline else {
                    changed.wait()
                    continue
                }
                if !changed.wait(untilNanoseconds: deadline) || deadline <= MonotonicClock.now() { break }
            }
            guard !isEnded || messages.next != nil else { return nil }
            hasNews = false
            isTelling = true
            return messages.next.map { [$0] } ?? []
        }
    }
}

import BridgePlatform
import ChaosLedger
import EventBridge
import Supervision

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Ends a run that has stood still, and says where.
enum Watchdog {
    /// A run in which nothing was handled and no end began for this many seconds hangs, even under a sanitizer.
    private static let patience = 100
    /// If no end begins for this many seconds, an earlier one hangs, even if events flow meanwhile.
    private static let longestEnd = 500

    static func begin(_ bridge: BridgeHost, _ watch: WorkerWatch, _ board: Board) throws {
        try PlatformThread.start(name: "watchdog") { [weak bridge] in
            var ends = -1
            var handled: UInt64 = 0
            var (sinceEnd, sinceHandled) = (0, 0)
            while true {
                sleep(1)
                guard let bridge else { return }
                let handledNow = bridge.statistics.reduce(0) { $0 &+ $1.sent.handled &+ $1.received.handled }
                sinceEnd = ends == board.ends ? sinceEnd + 1 : 0
                sinceHandled = ends == board.ends && handled == handledNow ? sinceHandled + 1 : 0
                ends = board.ends
                handled = handledNow
                guard sinceHandled >= patience || sinceEnd >= longestEnd else { continue }
                CurrentProcess.report(
                    """
                    no end for \(sinceEnd) s, and nothing handled for \(sinceHandled) s, after \(ends) ends, in phase \
                    \(board.phase)
                    on their way: \(bridge.leftovers.map { "\($0.events) to \($0.worker)" })
                    workers: \(bridge.status.map { "\($0.name) \($0.state) \($0.pid ?? 0)" })
                    reports: \(watch.found.unexpected)
                    """
                )
                CurrentProcess.exitImmediately(1)
            }
        }
    }
}

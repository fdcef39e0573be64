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
    /// Without a kill for so many seconds nothing will come any more, also under a sanitizer.
    private static let patience = 200

    static func begin(_ bridge: BridgeHost, _ watch: WorkerWatch, _ board: Board) throws {
        try PlatformThread.start(name: "watchdog") { [weak bridge] in
            var kills = -1
            var seconds = 0
            while bridge != nil {
                sleep(1)
                seconds = kills == board.kills ? seconds + 1 : 0
                kills = board.kills
                guard seconds >= patience, let bridge else { continue }
                CurrentProcess.report(
                    """
                    nothing has happened for \(patience) s after \(kills) kills, in phase \(board.phase)
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

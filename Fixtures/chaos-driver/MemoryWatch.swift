import BridgePlatform
import ChaosLedger
import EventBridge
import Synchronization

/// Looks all through a run at what the host holds for each worker, and at its memory as a whole.
final class MemoryWatch: Sendable {
    /// How much the host may have beside what waits for workers: code, threads, tables, and what an allocator keeps for
    /// later.
    private static let own = 192 << 20
    private static let interval: UInt32 = 20
    /// So many looks at what waits for each worker to one at the memory of the process, which takes longer.
    private static let looksBetweenSizes = 20
    /// So much beyond its bound, and it has none: a run that goes on would take the machine's memory.
    private static let hopeless = 4

    private struct Found: Sendable {
        var looks = 0
        /// What waited for a worker when it came closest to its bound.
        var closest: (worker: String, bytes: Int, bound: Int) = ("", 0, 1)
        var resident = 0
        var residentBound = 0
        var isHopeless = false
    }

    private let found = Mutex(Found())
    private let isOver = Atomic(false)

    /// Begins to look.
    ///
    /// - Returns: What ends after ``end()``.
    func begin(_ bridge: BridgeHost, _ roster: WorkerRoster) throws -> PlatformThread {
        var bounds: [Party: Int] = [:]
        var whole = Self.own
        for specification in roster.specifications {
            guard let party = Party(name: specification.name) else { continue }
            bounds[party] = MemoryBound.bytes(for: specification)
            whole += MemoryBound.bytes(for: specification) * (specification.pool?.members ?? 1)
        }
        return try PlatformThread.startJoinable(name: "memory watch") { [self, bounds, whole] in
            var looks = 0
            while !isOver.load(ordering: .relaxed) {
                look(bridge, bounds)
                if looks.isMultiple(of: Self.looksBetweenSizes) { lookAtAll(whole) }
                looks += 1
                CurrentProcess.pause(milliseconds: Self.interval)
            }
        }
    }

    func end() { isOver.store(true, ordering: .relaxed) }

    private func look(_ bridge: BridgeHost, _ bounds: [Party: Int]) {
        let statistics = bridge.statistics
        found.withLock { found in
            found.looks += 1
            for each in statistics {
                guard let bound = Party(name: each.worker).flatMap({ bounds[$0] }) else { continue }
                let bytes = each.sent.waitingBytes
                if Double(bytes) / Double(bound) > Double(found.closest.bytes) / Double(found.closest.bound) {
                    found.closest = (each.worker, bytes, bound)
                }
                if bytes > Self.hopeless * bound { found.isHopeless = true }
            }
        }
    }

    private func lookAtAll(_ bound: Int) {
        let bytes = (Leftovers.anonymousKilobytes() ?? 0) << 10
        found.withLock { found in
            found.resident = max(found.resident, bytes)
            found.residentBound = bound
            if bytes > Self.hopeless * bound { found.isHopeless = true }
        }
    }

    /// Whether there is no bound at all.
    var isHopeless: Bool { found.withLock { $0.isHopeless } }

    /// What came of it: two sentences, and whether each is good.
    var summary: [(isGood: Bool, text: String)] {
        let found = found.withLock { $0 }
        let closest = found.closest
        return [
            (
                closest.bytes <= closest.bound,
                """
                at most \(closest.bytes >> 10) KiB waited for \(closest.worker), whose bound is \(closest.bound >> 10) KiB, \
                the closest of all in \(found.looks) looks
                """
            ),
            (
                found.resident <= found.residentBound,
                "at most \(found.resident >> 20) MiB of memory in the host, bound \(found.residentBound >> 20) MiB"
            ),
        ]
    }
}

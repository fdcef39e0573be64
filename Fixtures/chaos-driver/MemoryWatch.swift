import BridgePlatform
import ChaosLedger
import EventBridge
import Synchronization

/// Looks throughout a run at the host's memory for each worker, and at the memory of the whole process.
final class MemoryWatch: Sendable {
    /// How much memory the host may have beside the events that wait for workers: code, threads, tables, and the
    /// allocator's reserve.
    private static let own = 192 << 20
    private static let interval: UInt32 = 20
    /// How many looks at the workers' events there are for one look at the process's memory, which takes longer.
    private static let looksBetweenSizes = 20
    /// Memory that reaches this many times its bound ends the run, which might otherwise take all of the machine's
    /// memory.
    private static let hopeless = 4

    private struct Found: Sendable {
        var looks = 0
        /// The worker that came closest to its bound, with the bytes that waited for it then.
        var closest: (worker: String, bytes: Int, bound: Int) = ("", 0, 1)
        var resident = 0
        var residentBound = 0
        var isHopeless = false
    }

    private let found = Mutex(Found())
    private let isOver = Atomic(false)

    /// Begins to look.
    ///
    /// - Returns: The thread, which ends after ``end()``.
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

    /// Whether memory is so far beyond its bound that the run must end.
    var isHopeless: Bool { found.withLock { $0.isHopeless } }

    /// The result: two sentences, and whether each is good.
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

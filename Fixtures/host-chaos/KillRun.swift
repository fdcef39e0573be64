import BridgePlatform
import FoundationEssentials
import Supervision

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Starts hosts and kills them, and reports what became of the numbers.
final class KillRun {
    /// How long a host may make no progress before it counts as hung, in nanoseconds.
    private static let patience: UInt64 = 60_000_000_000
    /// How many nanoseconds one look counts at most: during a longer look this process was suspended, and perhaps the
    /// host, too.
    private static let longestLook: UInt64 = 10_000_000

    private let options: ChaosOptions
    private let folder: String
    private let tally: Tally
    private var random: SplitMix64

    init(_ options: ChaosOptions) throws {
        self.options = options
        folder = "\(options.folder)/host-chaos-\(CurrentProcess.identifier)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        tally = try Tally.make(in: folder)
        random = SplitMix64(seed: options.seed)
    }

    /// - Returns: Whether every number was kept, delivered in order, and marked when it came again.
    func run() throws -> Bool {
        let start = ContinuousClock.now
        print("seed \(options.seed)")
        var isGood = true
        for kill in 1...options.kills where isGood {
            // The last life publishes what the lives before it have left.
            let left = max(1, options.events - Int(clamping: tally.accepted))
            let share = left / (options.kills - kill + 1)
            let count = kill == options.kills ? left : Int(random.next() % UInt64(2 * share + 1))
            isGood = try killHost(after: UInt64(count))
        }
        if isGood { isGood = try drain() }
        for name in Tally.workers { isGood = check(name) && isGood }
        print("\(options.kills) kills, \(tally.accepted) events accepted, \(ContinuousClock.now - start)")
        // After a failure the folder is kept for inspection.
        if isGood { try FileManager.default.removeItem(atPath: folder) } else { print("see \(folder)") }
        return isGood
    }

    /// Lets a host publish `count` events, then kills it and, at random, its children.
    private func killHost(after count: UInt64) throws -> Bool {
        let goal = tally.accepted + count
        let host = try spawn(.publish)
        // A kill may also come while the host starts, before its first number.
        var newest = tally.accepted
        var budget = LookBudget(Self.patience, longestLook: Self.longestLook, from: MonotonicClock.now())
        while newest < goal, !budget.isSpent {
            usleep(UInt32(random.next() % 400))
            budget.looked(at: MonotonicClock.now())
            if newest != tally.accepted {
                newest = tally.accepted
                budget.refill()
            }
        }
        let stands = newest < goal
        usleep(UInt32(random.next() % 2_000))
        for process in victims(of: host.processIdentifier) { kill(process, SIGKILL) }
        let exit = host.waitForExit()
        guard !stands, exit.status == .signaled(signal: SIGKILL, coreDumped: false) else {
            print(stands ? "the host stands still" : "the host has ended by itself: \(exit.status)")
            return false
        }
        return true
    }

    /// The processes to kill, in order: the host alone; its children, then the host; or the host, then its children.
    ///
    /// The children are the workers and their guard, in random order. Without a table of processes in `/proc`, only the
    /// host is killed.
    private func victims(of host: Int32) -> [Int32] {
        let kind = random.next() % 3
        guard kind > 0 else { return [host] }
        var children: [Int32] = []
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let process = Int32(name), let status = FileManager.default.contents(atPath: "/proc/\(name)/stat")
            else { continue }
            // The name of the program stands in parentheses; the state and the parent follow.
            let fields = status.split(separator: UInt8(ascii: ")")).last?.split(separator: UInt8(ascii: " ")) ?? []
            if fields.count > 1, Int32(String(decoding: fields[1], as: UTF8.self)) == host { children.append(process) }
        }
        children.shuffle(using: &random)
        return kind == 1 ? children + [host] : [host] + children
    }

    /// Starts a host that delivers all events that are not settled, and then another, which must find all settled.
    private func drain() throws -> Bool {
        for isSecond in [false, true] {
            let before = Tally.workers.map { tally.worker($0)?.repeats }
            let exit = try spawn(.drain).waitForExit()
            guard exit.status == .exited(code: 0) else {
                print("the last host has ended with \(exit.status)")
                return false
            }
            if isSecond, before != Tally.workers.map({ tally.worker($0)?.repeats }) {
                print("what was settled at rest has come again")
                return false
            }
        }
        return true
    }

    private func check(_ name: String) -> Bool {
        guard let got = tally.worker(name) else { return false }
        let repeats = "\(got.repeats) repeats, \(got.unmarked) of them unmarked"
        print("\(name): the newest number is \(got.newest); \(repeats); \(got.outOfTurn) out of turn")
        return got.newest >= tally.accepted && got.unmarked == 0 && got.outOfTurn == 0
    }

    private func spawn(_ life: NumberHost.Life) throws -> ChildProcess {
        var request = SpawnRequest(executable: try CurrentProcess.executableDirectory() + "/host-chaos")
        request.arguments = [life.rawValue, folder]
        request.environment = CurrentProcess.sanitizerOptions
        request.standardOutput = .inherit
        request.standardError = .inherit
        return try ChildProcess.spawn(request)
    }
}

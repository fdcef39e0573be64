import BridgePlatform
import DomainEvents
import EventBridge
import ExampleDomain
import Locks
import Supervision
import TestSupport
import Testing

/// How often workers are killed.
private enum Kills {
    /// 10,000 by hand.
    static let count = rounds(50, atLeast: 50)

    /// Far more than the test takes: the limit only ends a hang.
    static var minutes: Int { 5 + count / 200 }
}

@Suite(
    "An outcome arrives with the news that its request was handled",
    .serialized,
    .timeLimit(.minutes(Kills.minutes))
)
struct OutcomeTests {
    /// The hosts each have a worker of their own, so that one worker is killed while others start.
    private static let hosts = 3

    @Test("N2: a caller told that a request was handled has its outcome, though the worker is killed again and again")
    func outcomeBeforeReceipt() async throws {
        var random = SeededGenerator.announced()
        let begin = MonotonicClock.now()
        let tallies = try await withThrowingTaskGroup(of: KilledWorkerTally.self) { group in
            for host in 0..<Self.hosts {
                let kills = (Kills.count + host) / Self.hosts
                let seed = random.next()
                group.addTask { try await KilledWorker(seed: seed).run(kills: kills) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let all = tallies.reduce(into: KilledWorkerTally()) { $0.add($1) }
        print("\(all) in \(Double(MonotonicClock.now() - begin) / 1e9) s")
        #expect(all.kills == Kills.count)
        #expect(all.missing == 0)
        // Otherwise the kills met little work.
        #expect(all.killsAtWork > 0 && all.redelivered > 0 && all.killsOnTheWay > 0)
    }
}

/// The results for a worker that was killed again and again.
private struct KilledWorkerTally: Sendable, CustomStringConvertible {
    var kills = 0
    /// Kills after which the next start answered requests.
    var killsAtWork = 0
    /// Kills after which outcomes arrived that the dead worker had left in the socket or in its outbox.
    var killsOnTheWay = 0
    /// Of these kills, those with outcomes in the outbox.
    var killsWithRest = 0
    var acknowledged = 0
    var redelivered = 0
    /// Outcomes whose handler had not run when the request's sender got the receipt: they waited behind a slow handler,
    /// which a receipt does not.
    var late = 0
    /// Missing outcomes of acknowledged requests, even if another delivery made up for them.
    var missing = 0

    mutating func add(_ other: KilledWorkerTally) {
        kills += other.kills
        killsAtWork += other.killsAtWork
        killsOnTheWay += other.killsOnTheWay
        killsWithRest += other.killsWithRest
        acknowledged += other.acknowledged
        redelivered += other.redelivered
        late += other.late
        missing += other.missing
    }

    var description: String {
        """
        \(kills) kills, \(killsAtWork) of them at work, \(killsOnTheWay) with outcomes on their way, of these \(killsWithRest) in the \
        outbox; \(acknowledged) requests acknowledged, \(redelivered) answers to a redelivery, \(late) outcomes late, \(missing) missing
        """
    }
}

/// A host of its own with a worker that is killed at random.
private final class KilledWorker: @unchecked Sendable {
    // Sendable: `outcomes` and what belongs to it is guarded by `lock`, the rest is only used by `run(kills:)`.
    private static let requestsInRound: Int64 = 20

    /// When the worker is to be killed: a little after this many outcomes have come.
    private struct Moment {
        let process: Int32
        var outcomes: Int
        let delay: UInt64
    }

    private let publisher = EventPublisher()
    private let ready = Collected<WorkerReady>()
    private let killed = Collected<Bool>()
    private let lock = Lock()
    private var moment: Moment?
    private var outcomes: Set<Int64> = []
    private var redelivered = 0
    private var killsOnTheWay = 0
    private var killsWithRest = 0
    /// Whether the worker was killed and its end is not yet reported: outcomes that arrive now are left over from it.
    private var isDying = false
    private var hasLeftSome = false
    private var deaths = 0
    /// Late outcomes that the present worker owes: they come before its end is reported, or they were lost.
    private var owed: Set<Int64> = []
    private var missing = 0
    private var random: SeededGenerator

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    func run(kills: Int) async throws -> KilledWorkerTally {
        var tally = KilledWorkerTally()
        let subscriptions = [
            publisher.subscribe(to: WorkDone.self) { self.arrived($0) },
            publisher.subscribe(to: WorkerReady.self) { self.ready.add($0) },
            publisher.subscribe(to: WorkerExited.self) { exit in
                self.ended(hasRest: exit.outbox.map { $0.delivered > 0 } ?? false)
            },
        ]
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty(
                    "none",
                    backoff: .exponential(from: .zero, to: .zero),
                    subscribes: [WorkRequested.self],
                    limits: WorkerLimits(strikes: 100_000)
                )
            ],
            intensity: RestartIntensity(restarts: 100_000, within: .seconds(1))
        )
        try await bridge.start()
        for round in 1...max(1, kills) {
            let worker = try #require(await ready.wait { $0.count >= round }.last?.pid)
            let first = Int64(round) * Self.requestsInRound
            let numbers = first..<(first + Self.requestsInRound)
            setMoment(for: worker)
            let deliveries = numbers.map { number in
                Task { [publisher] in
                    try await publisher.deliver(WorkRequested(number: number, text: ""), within: patience)
                    return self.hasArrived(number, fromStart: round)
                }
            }
            for delivery in deliveries where try await !delivery.value { tally.late += 1 }
            tally.acknowledged += deliveries.count
            #expect(await killed.wait { $0.count >= round }.last == true)
            tally.kills += 1
            await bridge.waitUntilIdle()
            tally.missing += Int(Self.requestsInRound) - arrivals(of: numbers)
            let redelivered = lock.withLock { self.redelivered }
            if redelivered > tally.redelivered { tally.killsAtWork += 1 }
            tally.redelivered = redelivered
        }
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
        return lock.withLock {
            tally.killsOnTheWay = killsOnTheWay
            tally.killsWithRest = killsWithRest
            tally.missing += missing
            return tally
        }
    }

    private func arrived(_ outcome: WorkDone) {
        let now: Moment? = lock.withLock {
            outcomes.insert(outcome.number)
            if outcome.attempt > 1 { redelivered += 1 }
            if isDying { hasLeftSome = true }
            moment?.outcomes -= 1
            return moment?.outcomes == 0 ? moment.take() : nil
        }
        guard let now else { return }
        // Kill on this thread, so that no other has to be woken first: the worker is at one of the next requests.
        let end = MonotonicClock.now() + now.delay
        while MonotonicClock.now() < end {}
        let isKilled = ProcessSignal.kill(now.process)
        lock.withLock { isDying = isKilled }
        killed.add(isKilled)
    }

    private func ended(hasRest: Bool) {
        lock.withLock {
            if hasLeftSome { killsOnTheWay += 1 }
            if hasRest { killsWithRest += 1 }
            isDying = false
            hasLeftSome = false
            deaths += 1
            missing += owed.subtracting(outcomes).count
            owed = []
        }
    }

    /// Whether the outcome of an acknowledged request has arrived; if not, the process that acknowledged it owes it.
    private func hasArrived(_ number: Int64, fromStart start: Int) -> Bool {
        lock.withLock {
            if outcomes.contains(number) { return true }
            if deaths < start { owed.insert(number) }
            return false
        }
    }

    private func arrivals(of numbers: Range<Int64>) -> Int {
        lock.withLock { numbers.count { outcomes.contains($0) } }
    }

    /// Somewhere between the first outcome and the last, or a little later.
    private func setMoment(for process: Int32) {
        let outcomes = Int.random(in: 1...Int(Self.requestsInRound), using: &random)
        // About as long as some requests take.
        let delay = UInt64.random(in: 0...60_000, using: &random)
        lock.withLock { moment = Moment(process: process, outcomes: outcomes, delay: delay) }
    }
}

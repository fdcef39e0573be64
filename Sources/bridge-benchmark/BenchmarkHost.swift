import BridgePlatform
import DomainEvents
import EventBridge
import Locks
import Supervision

/// The host's half of each work.
enum BenchmarkHost {
    private static let warmUp: Int64 = 2_000

    private static func bridge(
        _ publisher: EventPublisher,
        _ work: String,
        subscribes: [any DomainEvent.Type]
    ) throws
        -> BridgeHost
    {
        try BridgeHost(
            publisher: publisher,
            workers: [
                WorkerSpecification(
                    "benchmark",
                    executable: .beside("bridge-benchmark"),
                    arguments: ["worker", work],
                    subscribes: subscribes
                )
            ]
        )
    }

    /// W1: one event there, one back; the handler of the reply sends the next, on the thread that delivers it.
    static func roundTrips(_ count: Int64) async throws {
        let publisher = EventPublisher()
        let bridge = try bridge(publisher, "W1", subscribes: [BenchmarkEvent.self])
        let trips = Trips(count: Int(count))
        let done = Finish()
        let subscription = publisher.subscribe(to: BenchmarkReply.self) { reply in
            let now = MonotonicClock.now()
            guard reply.title == Title.of(reply.id) else { Report.fail("reply \(reply.id) has title \(reply.title)") }
            if trips.returned(reply.id, at: now, warmUp: warmUp) {
                done.finish()
                return
            }
            let next = reply.id + 1
            trips.begin(MonotonicClock.now())
            publisher.publish(BenchmarkEvent(id: next, title: Title.of(next)))
        }
        try await bridge.start()
        trips.begin(MonotonicClock.now())
        publisher.publish(BenchmarkEvent(id: 0, title: Title.of(0)))
        await done.wait()
        subscription.cancel()
        await bridge.shutdown()
        Report.roundTrips(trips.nanoseconds, total: trips.total)
    }

    /// W2: as fast as the worker can, acknowledged, nothing lost.
    static func flood(_ count: Int64) async throws {
        let publisher = EventPublisher()
        let bridge = try bridge(publisher, "W2", subscribes: [BenchmarkStarted.self])
        let flood = Flood(count: count)
        let done = Finish()
        let subscription = publisher.subscribe(to: BenchmarkEvent.self) { event in
            guard event.title == Title.of(event.id) else { Report.fail("event \(event.id) has title \(event.title)") }
            if flood.arrived(event.id) { done.finish() }
        }
        try await bridge.start()
        publisher.publish(BenchmarkStarted(count: count, blobBytes: 0))
        await done.wait()
        subscription.cancel()
        await bridge.shutdown()
        Report.flood(flood.count, nanoseconds: flood.nanoseconds)
    }

    /// W3: large payloads.
    static func blobs(_ bytes: Int, _ count: Int64) async throws {
        let publisher = EventPublisher()
        let bridge = try bridge(publisher, "W3", subscribes: [BenchmarkStarted.self])
        let flood = Flood(count: count)
        let done = Finish()
        let subscription = publisher.subscribe(to: BenchmarkBlob.self) { event in
            guard event.title == Title.of(event.id), event.blob.count == bytes, Stamp.isRight(event.blob, id: event.id)
            else { Report.fail("blob \(event.id) is not what was sent") }
            if flood.arrived(event.id) { done.finish() }
        }
        try await bridge.start()
        publisher.publish(BenchmarkStarted(count: count, blobBytes: bytes))
        await done.wait()
        subscription.cancel()
        await bridge.shutdown()
        Report.blobs(bytes, count, nanoseconds: flood.nanoseconds)
    }

    /// W4: from the start of a worker to its first event.
    static func starts(_ count: Int) async throws {
        var times: [UInt64] = []
        for _ in 0..<count {
            let publisher = EventPublisher()
            let bridge = try bridge(publisher, "W4", subscribes: [])
            let done = Finish()
            let arrival = Arrival()
            let subscription = publisher.subscribe(to: BenchmarkEvent.self) { event in
                guard event.title == Title.of(event.id) else { Report.fail("the first event has title \(event.title)") }
                arrival.set(MonotonicClock.now())
                done.finish()
            }
            let begin = MonotonicClock.now()
            try await bridge.start()
            await done.wait()
            times.append(arrival.time - begin)
            subscription.cancel()
            await bridge.shutdown()
        }
        Report.starts(times)
    }
}

/// The times of round trips.
///
/// Only ever used by one thread at a time: the handlers of one link.
private final class Trips: @unchecked Sendable {
    // Sendable: one event is in flight, so one thread is here at a time, handed over through the link's locks.
    private(set) var nanoseconds: [UInt64] = []
    private let count: Int
    private var begun: UInt64 = 0
    private var first: UInt64 = 0
    private var last: UInt64 = 0
    private var expected: Int64 = 0

    init(count: Int) {
        self.count = count
        nanoseconds.reserveCapacity(count)
    }

    var total: UInt64 { last - first }

    func begin(_ now: UInt64) {
        begun = now
    }

    func returned(_ id: Int64, at now: UInt64, warmUp: Int64) -> Bool {
        guard id == expected else { Report.fail("reply \(id) came where \(expected) was expected") }
        expected += 1
        if id >= warmUp {
            if nanoseconds.isEmpty { first = begun }
            nanoseconds.append(now - begun)
            last = now
        }
        return nanoseconds.count == count
    }
}

/// The arrival of a flood.
private final class Flood: @unchecked Sendable {
    // Sendable: only the thread that reads the link is here until `Finish` has passed it on.
    let count: Int64
    private var expected: Int64 = 0
    private var sum: Int64 = 0
    private var first: UInt64 = 0
    private(set) var nanoseconds: UInt64 = 0

    init(count: Int64) {
        self.count = count
    }

    func arrived(_ id: Int64) -> Bool {
        if expected == 0 { first = MonotonicClock.now() }
        guard id == expected else { Report.fail("event \(id) came where \(expected) was expected") }
        expected += 1
        sum += id
        guard expected == count else { return false }
        nanoseconds = MonotonicClock.now() - first
        guard sum == count * (count - 1) / 2 else { Report.fail("the sum of the numbers is \(sum)") }
        return true
    }
}

private final class Arrival: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var value: UInt64 = 0

    var time: UInt64 { lock.withLock { value } }

    func set(_ time: UInt64) {
        lock.withLock { value = time }
    }
}

/// Waits for the end of a work.
final class Finish: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var isFinished = false
    private var waiter: CheckedContinuation<Void, Never>?

    func finish() {
        let waiting = lock.withLock {
            isFinished = true
            return waiter.take()
        }
        waiting?.resume()
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isDone = lock.withLock {
                if !isFinished { waiter = continuation }
                return isFinished
            }
            if isDone { continuation.resume() }
        }
    }
}

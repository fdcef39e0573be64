import BridgePlatform
import BridgeProtocol
import DomainEvents
import Locks
import Synchronization
import TestSupport
import Testing

@testable import EventRouting

/// Threads that wait at a gate, and how many have passed.
private final class Passers {
    private let passed = PassCount()
    private var threads: [PlatformThread] = []

    private final class PassCount: Sendable {
        let value = Atomic<Int>(0)
    }

    var count: Int { passed.value.load(ordering: .acquiring) }

    func start(_ body: @escaping @Sendable () -> Void) throws {
        let thread = try PlatformThread.startJoinable(name: "recovery") { [passed] in
            body()
            passed.value.wrappingAdd(1, ordering: .acquiringAndReleasing)
        }
        threads.append(thread)
    }

    func join() {
        for thread in threads { thread.join() }
    }
}

@Suite("What dead workers have left, and those who have no room for it", .timeLimit(.minutes(1)))
struct RecoveryGateTests {
    private let gate = RecoveryGate()
    private let publisher = EventPublisher()
    private let poller: Poller

    init() throws {
        poller = try Poller(name: "gate test")
    }

    /// A peer that is down, with room for four events, for which this many are kept.
    private func peer(_ name: String, holding count: Int) throws -> Peer {
        var limits = LinkLimits()
        limits.outboxBytes = LinkLimits.minimumCharge
        limits.outboxHardBytes = 4 * LinkLimits.minimumCharge
        let peer = Peer(
            peerName: name,
            role: .host,
            ownSource: publisher.source,
            limits: limits,
            isRenewed: true,
            poller: poller
        )
        for _ in 0..<count { try put(into: peer) }
        return peer
    }

    private func put(into peer: Peer) throws {
        _ = try peer.enqueue(
            publisher.makeContext(causedBy: nil),
            name: "Left",
            isHeld: false,
            isAccepted: true,
            payload: UnsafeRawBufferPointer(start: nil, count: 0)
        )
    }

    @Test("pass at once where there is room, up to twice the limit of a peer that is down")
    func room() throws {
        let (sender, target) = (try peer("sender", holding: 0), try peer("target", holding: 7))
        gate.wait(sender, for: target)
        try put(into: target)
        #expect(target.isOverfull)
    }

    @Test("wait for a peer that is down until nothing is taken for it any more")
    func closed() throws {
        let (sender, target) = (try peer("sender", holding: 0), try peer("target", holding: 8))
        let passers = Passers()
        try passers.start { gate.wait(sender, for: target) }
        waitUntil { gate.awaited(by: sender) != nil }
        #expect(passers.count == 0)
        target.close(because: "it was given up", isGivenUp: true)
        passers.join()
        // Nor does a thread that comes later.
        gate.wait(sender, for: target)
    }

    @Test("do not wait for a peer that is paused, also if that happens meanwhile")
    func paused() throws {
        let (sender, target) = (try peer("sender", holding: 0), try peer("target", holding: 8))
        let passers = Passers()
        try passers.start { gate.wait(sender, for: target) }
        waitUntil { gate.awaited(by: sender) != nil }
        target.setPaused(true)
        target.pauseChanged()
        passers.join()
        gate.wait(sender, for: target)
    }

    @Test("do not wait for a peer that is not started before others have ended, also if that happens meanwhile")
    func notStartedByItself() throws {
        let (sender, target) = (try peer("sender", holding: 0), try peer("target", holding: 8))
        let passers = Passers()
        try passers.start { gate.wait(sender, for: target) }
        waitUntil { gate.awaited(by: sender) != nil }
        target.setStartsByItself(false)
        passers.join()
        gate.wait(sender, for: target)
        target.setStartsByItself(true)
        #expect(target.isOverfull)
    }

    /// As when a worker's process and its successor have died together.
    @Test("of one worker, two at a time, go on together")
    func twoOfOneWorker() throws {
        let (sender, target) = (try peer("sender", holding: 0), try peer("target", holding: 8))
        let passers = Passers()
        for count in 1...2 {
            try passers.start { gate.wait(sender, for: target) }
            waitUntil { target.lock.withLock { target.recoveriesWaiting.count } == count }
        }
        target.setStartsByItself(false)
        passers.join()
        #expect(gate.awaited(by: sender) == nil)
        #expect(target.lock.withLock { target.recoveriesWaiting.isEmpty })
    }

    @Test("of one worker wait for two others, and one that goes on hides no circle of the other one")
    func twoReceivers() throws {
        let (sender, target) = (try peer("sender", holding: 8), try peer("target", holding: 8))
        let other = try peer("other", holding: 8)
        let passers = Passers()
        for receiver in [target, other] {
            try passers.start { gate.wait(sender, for: receiver) }
            waitUntil { receiver.lock.withLock { receiver.recoveriesWaiting.count } == 1 }
        }
        other.close(because: "it was stopped")
        waitUntil { passers.count == 1 }
        try #require(gate.awaited(by: sender) === target)
        // This wait would close the circle.
        gate.wait(target, for: sender)
        target.close(because: "it was stopped")
        passers.join()
    }

    @Test("do not wait in a circle, of two or of three", arguments: [2, 3])
    func circle(_ count: Int) throws {
        let peers = try (0..<count).map { try peer("worker \($0)", holding: 8) }
        let passers = Passers()
        for (index, sender) in peers.enumerated() {
            let target = peers[(index + 1) % count]
            try passers.start { gate.wait(sender, for: target) }
        }
        // The thread that would have closed the circle passes.
        waitUntil { passers.count != 0 }
        waitUntil { peers.count { gate.awaited(by: $0) != nil } == count - 1 }
        #expect(passers.count == 1)
        for peer in peers { peer.close(because: "it was stopped") }
        passers.join()
    }

    private static let process = EventSource(origin: "target", incarnation: 7)

    /// A peer whose process lives, with room for four events, for which this many are kept.
    private func livingPeer(holding count: Int) throws -> Peer {
        let peer = try peer("target", holding: count)
        peer.link.establish(as: Self.process)
        return peer
    }

    /// An event whose publisher, which has this source, waits for its outcome.
    private func request(of source: EventSource) -> EventContext {
        EventContext(id: EventID(source: source, number: 1), nanosecondsSinceEpoch: 1)
    }

    @Test("do not wait for one that itself waits for an answer of the dead one, for the rest of what that has left")
    func asked() throws {
        let (sender, target) = (try peer("sender", holding: 2), try livingPeer(holding: 4))
        try sender.put(request(of: Self.process), "Asked", wantsReceipt: true)
        for _ in 1...3 {
            #expect(target.isOverfull)
            gate.wait(sender, for: target)
            try put(into: target)
        }
        // The next recovery begins without requesters.
        _ = sender.incarnationCrashed(sender.link, because: "a crash", suspects: [])
        #expect(sender.requesters.isEmpty)
    }

    @Test("wait no more once it does, and not before")
    func askedMeanwhile() throws {
        let bench = try RoutingBench()
        let gate = bench.router.recoveryGate
        let (sender, target) = (try peer("sender", holding: 0), try livingPeer(holding: 4))
        bench.router.exchange(adding: [sender, target])
        // The publisher of this request is a process that is gone, so no process waits for it.
        try sender.put(request(of: EventSource(origin: "target", incarnation: 6)), "Asked", wantsReceipt: true)
        // This event is not a request either.
        try sender.put(request(of: Self.process), "Told")
        let passers = Passers()
        try passers.start { gate.wait(sender, for: target) }
        waitUntil { gate.awaited(by: sender) != nil }
        let topic = try #require(bench.router.named("Asked"))
        func send(from origin: Peer, wantsReceipt: Bool) {
            _ = topic.send(
                UnsafeRawBufferPointer(start: nil, count: 0),
                context: request(of: Self.process),
                except: origin,
                wantsReceipt: wantsReceipt,
                to: [sender],
                attached: [],
                by: bench.router
            )
        }
        send(from: target, wantsReceipt: false)
        send(from: try peer("other", holding: 0), wantsReceipt: true)
        #expect(passers.count == 0 && gate.awaited(by: sender) === target)
        send(from: target, wantsReceipt: true)
        passers.join()
        #expect(target.isOverfull)
    }

    @Test("wait no more once the gate is open")
    func opened() throws {
        let (sender, target) = (try peer("sender", holding: 0), try peer("target", holding: 8))
        let passers = Passers()
        try passers.start { gate.wait(sender, for: target) }
        waitUntil { gate.awaited(by: sender) != nil }
        gate.open()
        passers.join()
        gate.wait(sender, for: target)
    }

    @Test("keep no peer beyond their wait")
    func letGoOf() throws {
        weak var kept: Peer?
        do {
            let (sender, target) = (try peer("sender", holding: 0), try peer("target", holding: 8))
            kept = target
            let passers = Passers()
            try passers.start { [gate] in gate.wait(sender, for: target) }
            waitUntil { gate.awaited(by: sender) != nil }
            gate.open()
            passers.join()
            // As a bridge does with all its workers in the end: the calls that wait for this worker's room are made.
            target.close(because: "it was stopped")
        }
        // The thread has ended and has released its call.
        waitUntil { kept == nil }
    }
}

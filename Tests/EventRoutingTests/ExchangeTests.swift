import BridgePlatform
import BridgeProtocol
import DomainEvents
import Synchronization
import TestSupport
import Testing

@testable import EventBridgeTesting
@testable import EventRouting

private struct CrateStored: DomainEvent { let number: UInt64 }

@Suite("An exchange of peers, with threads that a seed schedules", .timeLimit(.minutes(2)))
struct ExchangeTests {
    private static let name = "ParcelSaved"

    /// What one world has seen.
    private final class Sight: Sendable {
        let looks = Atomic<Int>(0)
        let looksWithoutReceiver = Atomic<Int>(0)
    }

    @Test("leaves no event without a receiver, though the leaving peer takes a wish back meanwhile")
    func wishTakenBack() async {
        for seed in 1...200 as ClosedRange<UInt64> {
            let sight = Sight()
            let end = await Self.run(seed: seed) { try Self.exchange(sight) }
            #expect(end == .finished, "seed \(seed)")
            #expect(sight.looks.load(ordering: .relaxed) == 20, "seed \(seed)")
            #expect(sight.looksWithoutReceiver.load(ordering: .relaxed) == 0, "seed \(seed)")
        }
    }

    @Test("brings each event to all peers that leave or to all that come, whether it is published here or by a peer")
    func twoForTwo() async {
        for seed in 1...200 as ClosedRange<UInt64> {
            let mixed = Collected<[UInt64]>()
            let end = await Self.run(seed: seed) {
                let counts = try Self.exchangeTwo()
                if counts[0] != counts[1] || counts[2] != counts[3] || counts[0] + counts[2] != 20 { mixed.add(counts) }
            }
            #expect(end == .finished, "seed \(seed)")
            #expect(mixed.all.isEmpty, "seed \(seed)")
        }
    }

    /// - Returns: How many of 20 events two peers that left have got, and two peers that took their place.
    private static func exchangeTwo() throws -> [UInt64] {
        let bench = try RoutingBench()
        let name = CrateStored.eventName
        let peers = ["goes", "goes too", "comes", "comes too"].map { bench.peer($0, wants: [name]) }
        let sender = bench.peer("sender")
        bench.router.exchange(adding: [sender] + peers[..<2])
        bench.router.start()
        let exchange = try PlatformThread.startJoinable(name: "exchange") {
            bench.router.exchange(adding: Array(peers[2...]), leaving: Array(peers[..<2]))
        }
        let received = try PlatformThread.startJoinable(name: "sender") {
            for number in 1...10 as ClosedRange<UInt64> {
                let payload = [0xA1, 0x66] + Array("number".utf8) + [UInt8(number)]
                _ = try? bench.receive(number, .text(name), payload: payload, from: sender)
            }
        }
        for number in 11...20 as ClosedRange<UInt64> { bench.publisher.publish(CrateStored(number: number)) }
        exchange.join()
        received.join()
        defer { bench.poller.stop() }
        bench.router.stop()
        return peers.map(\.statistics.waiting)
    }

    private static func exchange(_ sight: Sight) throws {
        let bench = try RoutingBench()
        let (goes, comes) = (bench.peer("goes", wants: [name]), bench.peer("comes", wants: [name]))
        bench.router.exchange(adding: [goes])
        goes.link.establish(as: EventSource(origin: "goes", incarnation: 7))
        bench.router.announceInterest(to: goes, over: goes.link)
        let exchange = try PlatformThread.startJoinable(name: "exchange") {
            bench.router.exchange(adding: [comes], leaving: [goes])
        }
        let wish = try PlatformThread.startJoinable(name: "wish") {
            let nothing = Interest()
            try? bench.router.interestReceived(nothing, from: goes, over: goes.link, replacesWishes: true)
        }
        for _ in 1...20 {
            if bench.router.named(name)?.targets.isEmpty != false {
                sight.looksWithoutReceiver.add(1, ordering: .relaxed)
            }
            sight.looks.add(1, ordering: .relaxed)
        }
        exchange.join()
        wish.join()
        bench.poller.stop()
    }

    /// Runs a world in which nothing but `body` happens, on a thread outside.
    private static func run(seed: UInt64, _ body: @escaping @Sendable () throws -> Void) async -> Scheduler.End {
        await withCheckedContinuation { continuation in
            let outside = try? PlatformThread.startJoinable(name: "outside") {
                let scheduler = Scheduler(choices: Choices(seed: seed))
                scheduler.shuffles = true
                scheduler.interrupt(preempting: 3, jumping: 0)
                let end = scheduler.run {
                    do { try body() } catch { Issue.record(error) }
                    scheduler.close()
                }
                continuation.resume(returning: end)
            }
            if outside == nil { continuation.resume(returning: .finished) }
        }
    }
}

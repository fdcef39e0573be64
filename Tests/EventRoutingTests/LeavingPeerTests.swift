import BridgeProtocol
import Testing

@testable import DomainEvents
@testable import EventRouting

@Suite("Who looked up who gets an event, and was held up until one of them was leaving", .timeLimit(.minutes(1)))
struct LeavingPeerTests {
    private static let name = "ParcelSaved"
    private let bench: RoutingBench

    init() throws {
        bench = try RoutingBench()
    }

    /// How the leaving peer wants the event.
    enum Wish: CaseIterable {
        case byName
        case amongAll
    }

    /// How far the publishing has come meanwhile.
    enum Progress: CaseIterable {
        case leaving
        case stopped
        case retired
    }

    private func peer(_ name: String) -> Peer { bench.peer(name, wants: [Self.name]) }

    private func go(_ peer: Peer, _ progress: Progress) {
        if progress == .leaving { return }
        peer.close(because: "it was stopped")
        if progress == .retired { bench.router.retire(peer) }
    }

    @Test(
        "finds those who have taken its place, however far it has got",
        arguments: [[], ["stays"]],
        Progress.allCases
    )
    func heldUp(others: [String], progress: Progress) throws {
        for wish in Wish.allCases {
            let bench = try RoutingBench()
            let goes = bench.peer("goes", wants: [wish == .byName ? Self.name : EventName.everything.text])
            let new = bench.peer("new", wants: [Self.name])
            let staying = others.map { bench.peer($0, wants: [Self.name]) }
            for peer in [goes] + staying { bench.router.add(peer) }
            let topic = try #require(bench.router.named(Self.name))
            bench.router.ensureTargets(of: topic)
            let lookedUp = topic.targets
            #expect(lookedUp.count == 1 + others.count)
            bench.router.exchange(adding: [new], leaving: [goes])
            if progress != .leaving { goes.close(because: "it was stopped") }
            if progress == .retired { bench.router.retire(goes) }
            let ledger = ReceiptLedger(of: "ElseSaved", context: bench.makeContext()) { _ in }
            ledger.expect(ledger.own)
            for receipts in [nil, ledger] {
                let sent = topic.sendToAll(
                    UnsafeRawBufferPointer(start: nil, count: 0),
                    context: receipts?.context ?? bench.makeContext(),
                    receipts: receipts,
                    to: lookedUp,
                    attached: [],
                    by: bench.router
                )
                guard case .taken = sent else {
                    Issue.record("\(wish): \(sent)")
                    continue
                }
            }
            #expect(goes.statistics.waiting == 0, "\(wish)")
            for peer in [new] + staying { #expect(peer.statistics.waiting == 2, "\(wish): \(peer.peerName)") }
            // A publisher that waits for the outcome waits for the receivers that have got the event.
            #expect(ledger.unheard == (["new"] + others).sorted())
        }
    }

    @Test("finds them for an event of a peer too", arguments: Progress.allCases)
    func peersEvent(progress: Progress) throws {
        let (goes, new, sender) = (peer("goes"), peer("new"), bench.peer("sender"))
        for peer in [goes, sender] { bench.router.add(peer) }
        let topic = try #require(bench.router.named(Self.name))
        let lookedUp = topic.targets
        bench.router.exchange(adding: [new], leaving: [goes])
        go(goes, progress)
        for wantsReceipt in [false, true] {
            let sent = topic.send(
                UnsafeRawBufferPointer(start: nil, count: 0),
                context: bench.makeContext(),
                except: sender,
                wantsReceipt: wantsReceipt,
                to: lookedUp,
                attached: [],
                by: bench.router
            )
            #expect(sent.losses.isEmpty)
            #expect(sent.reached == (wantsReceipt ? ["new"] : []))
        }
        #expect(goes.statistics.waiting == 0)
        #expect(new.statistics.waiting == 2)
    }

    @Test("is not kept waiting for its room once it has gone, nor told that it is unavailable")
    func waitingForRoom() async throws {
        var limits = LinkLimits()
        limits.outboxBytes = LinkLimits.minimumCharge
        let goes = bench.peer("goes", wants: [Self.name], limits: limits)
        bench.router.add(goes)
        try goes.put(bench.makeContext(), Self.name)
        #expect(!goes.hasRoom(for: Self.name))
        bench.router.exchange(adding: [peer("new")], leaving: [goes])
        goes.close(because: "it was stopped")
        try await goes.waitForRoom(for: Self.name)
        await #expect(throws: DeliveryError.self) { try await goes.waitForRoom(for: "ElseSaved") }
    }

    @Test("goes on with those after them, if they leave in their turn")
    func heldUpAgain() throws {
        let (goes, next, last) = (peer("goes"), peer("next"), peer("last"))
        let key = HeldKey()
        let pool = PeerPool(name: "pool", count: 2, keys: [Self.name: .found(key)])
        let members = (1...2).map { bench.peer("pool.\($0)", wants: [Self.name], pool: pool) }
        bench.router.exchange(adding: [goes] + members)
        let topic = try #require(bench.router.named(Self.name))
        let payload: [UInt8] = [1]
        let lookedUp = payload.withUnsafeBytes { topic.fanout.targets(of: $0, except: nil) }
        bench.router.exchange(adding: [next], leaving: [goes])
        // The receivers are found out anew while the next peer is still among them.
        key.onLook = { [bench] in bench.router.exchange(adding: [last], leaving: [next]) }
        let sent = payload.withUnsafeBytes {
            topic.send(
                $0,
                context: bench.makeContext(),
                wantsReceipt: false,
                to: lookedUp,
                attached: [],
                by: bench.router
            )
        }
        #expect(sent.losses.isEmpty)
        #expect([goes, next, last].map(\.statistics.waiting) == [0, 0, 1])
        #expect(members.map(\.statistics.waiting).reduce(0, +) == 1)
    }

    @Test("gives it to one member of a pool, and to no second one when another is leaving")
    func oneMember() throws {
        let (goes, new) = (peer("goes"), peer("new"))
        let pool = PeerPool(name: "pool", count: 3, keys: [:])
        let members = (1...3).map { bench.peer("pool.\($0)", wants: [Self.name], pool: pool) }
        bench.router.exchange(adding: [goes] + members)
        let topic = try #require(bench.router.named(Self.name))
        let lookedUp = topic.fanout.targets(of: UnsafeRawBufferPointer(start: nil, count: 0), except: nil)
        #expect(lookedUp.count == 2)
        bench.router.exchange(adding: [new], leaving: [goes])
        // As for events that are published without waiting and for events of peers: no room is kept beforehand.
        let sent = topic.send(
            UnsafeRawBufferPointer(start: nil, count: 0),
            context: bench.makeContext(),
            wantsReceipt: false,
            to: lookedUp,
            attached: [],
            by: bench.router
        )
        #expect(sent.losses.isEmpty)
        #expect([goes, new].map(\.statistics.waiting) == [0, 1])
        #expect(members.map(\.statistics.waiting).reduce(0, +) == 1)
    }

    @Test("leaves it the reports for which it has asked by name, though it subscribes to everything")
    func reports() throws {
        bench.router.start()
        defer { bench.router.stop() }
        let goes = bench.peer("goes", wants: [EventName.everything.text])
        bench.router.add(goes)
        let told = LinkInterest(goes.link)
        told.asked = EventName.set([EventsDropped.eventName, Self.name])
        bench.router.withPeers { _ in goes.interest.begins(told, ofSuccessor: false) }
        bench.router.exchange(adding: [], leaving: [goes])
        _ = try goes.put(bench.makeContext(), Self.name)
        #expect(goes.statistics.waiting == 0)
        // The first event of its name: the router finds out only now that it is a report.
        bench.publisher.publish(
            EventsDropped(event: "ElseSaved", link: "host", count: 1, first: "1", last: "1", reason: "a test")
        )
        #expect(goes.statistics.waiting == 1)
    }
}

/// Finds the same key in every event, and acts on the first look.
private final class HeldKey: EventKeyFinder, @unchecked Sendable {
    // Sendable: one thread looks at a time.
    var onLook: (() -> Void)?

    var eventType: any DomainEvent.Type { EventsDropped.self }

    func place(of payload: UnsafeRawBufferPointer) -> KeyPlace? {
        onLook.take()?()
        return [UInt8]([7]).withUnsafeBytes { KeyPlace($0) }
    }
}

import BridgePlatform
import BridgeProtocol
import DomainEvents
import Testing

@testable import EventRouting

@Suite("Who looked up who gets an event, and was held up until one of them was leaving")
struct LeavingRouteTests {
    private static let name = "ParcelSaved"
    private let publisher = EventPublisher()
    private let poller: Poller
    private let router: EventRouter

    init() throws {
        poller = try Poller(name: "leaving")
        router = EventRouter(publisher: publisher, poller: poller)
    }

    /// A peer that is down, and whose specification says that it wants the event.
    private func route(_ name: String) -> Route {
        let route = Route(
            peerName: name,
            role: .host,
            ownSource: publisher.source,
            limits: LinkLimits(),
            isRenewed: true,
            poller: poller
        )
        route.specify([Self.name])
        return route
    }

    @Test("finds those who have taken its place", arguments: [[], ["stays"]])
    func heldUp(others: [String]) throws {
        let (goes, new) = (route("goes"), route("new"))
        let staying = others.map(route)
        for route in [goes] + staying { router.add(route) }
        let entry = try #require(router.named(Self.name))
        let lookedUp = entry.targets
        #expect(lookedUp.count == 1 + others.count)
        router.exchange(adding: [new], leaving: [goes])
        let context = publisher.makeContext(causedBy: nil)
        let sent = entry.sendToAll(
            UnsafeRawBufferPointer(start: nil, count: 0),
            context: context,
            receipts: nil,
            to: lookedUp,
            attached: []
        )
        guard case .taken = sent else {
            Issue.record("\(sent)")
            return
        }
        #expect(goes.statistics.waiting == 0)
        for route in [new] + staying { #expect(route.statistics.waiting == 1, "\(route.peerName)") }
        poller.stop()
    }
}

import BridgeProtocol
import BridgeTransport
import DomainEvents
import Locks
import Testing

@testable import EventRouting

@Suite("The interest of peers", .timeLimit(.minutes(5)))
struct InterestTests {
    private static let names = ["ParcelSaved", "ParcelSent"]
    private static let wishes: [[String]] = [
        [], [names[0]], [names[1]], names, [EventName.everything.text], [EventName.everything.text, names[0]],
    ]

    private let bench: RoutingBench
    private let routes: [Route]

    init() throws {
        bench = try RoutingBench()
        // One of them wants a name by its specification.
        routes = [bench.route("one"), bench.route("two", wants: [Self.names[1]]), bench.route("three")]
        bench.router.exchange(adding: routes)
        for route in routes {
            route.link.establish(as: EventSource(origin: route.peerName, incarnation: 7))
            bench.router.announceInterest(to: route, over: route.link)
        }
    }

    private func ask(_ names: [String], by route: Route) throws {
        let wanted = names.enumerated().map { index, name in
            Interest.Name(number: name == EventName.everything.text ? 0 : UInt64(index + 1), name: name)
        }
        let interest = Interest(wanted: wanted)
        try bench.router.interestReceived(interest, from: route, over: route.link, replacesWishes: true)
    }

    @Test("decides who gets an event and what is asked of whom, whichever of them asks for what next")
    func everyChange() throws {
        for name in Self.names { bench.router.ensureTargets(of: try #require(bench.router.named(name))) }
        for first in routes {
            for (one, other) in Self.wishes.flatMap({ one in Self.wishes.map { (one, $0) } }) {
                for second in routes {
                    try ask(one, by: first)
                    try ask(other, by: second)
                    try check()
                    if one == other {
                        bench.router.forgetInterest(of: second)
                        try check()
                    }
                }
            }
        }
    }

    private func check() throws {
        for name in Self.names {
            let entry = try #require(bench.router.named(name))
            let wanting = bench.router.lock.withLock { routes.filter { $0.wants(name, isSelfReport: false) } }
            #expect(entry.targets.map(\.peerName) == wanting.map(\.peerName), "\(name)")
            for route in routes {
                let isAsked = bench.router.lock.withLock {
                    route.interest.present?.announced.contains(entry.number)
                }
                #expect(isAsked == wanting.contains { $0 !== route }, "\(name) of \(route.peerName)")
            }
        }
    }
}

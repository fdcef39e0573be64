import DomainEvents
import Testing

@testable import NATSGateway
@testable import nats_gateway

@Suite struct CauseChainsTests {
    private func headers(
        _ number: Int,
        cause: String? = nil,
        root: String? = nil,
        crossings: Int = 1
    ) throws -> EventHeaders {
        EventHeaders(
            id: "host-1f-\(number)",
            source: "host",
            name: "Counted",
            cause: cause,
            root: root,
            path: [try node("berlin")],
            crossings: crossings
        )
    }

    private func id(_ origin: String, _ number: UInt64) -> EventID {
        EventID(origin: origin, incarnation: 0x1f, number: number)
    }

    @Test func eventCrossesOnceMoreThanTheChainBehindIt() throws {
        let chains = CauseChains()
        #expect(chains.crossings(of: id("worker", 1), first: id("worker", 1)) == 1)
        #expect(chains.crossings(of: id("worker", 2), first: id("host", 9)) == 1)
        // The first cause, which has another name at its own node, is the event itself, the event's cause or neither.
        chains.bring(try headers(1))
        #expect(chains.crossings(of: id("worker", 3), first: id("berlin/host", 1)) == 2)
        chains.bring(try headers(2, cause: "paris/worker-1f-4", crossings: 4))
        #expect(chains.crossings(of: id("worker", 5), first: id("worker", 4)) == 5)
        chains.bring(try headers(3, cause: "host-1f-2", root: "rome/host-1f-6", crossings: 7))
        #expect(chains.crossings(of: id("worker", 7), first: id("rome/host", 6)) == 8)
        // A shorter chain with the same first cause does not make the longer one shorter.
        chains.bring(try headers(4, cause: "host-1f-2", root: "rome/host-1f-6", crossings: 2))
        #expect(chains.crossings(of: id("worker", 8), first: id("rome/host", 6)) == 8)
    }

    @Test func lastFirstCausesAreRememberedAndNoMoreThanTwiceAsMany() throws {
        let chains = CauseChains()
        let count = CauseChains.rememberedCauses
        for number in 1...3 * count { chains.bring(try headers(number, crossings: 3)) }
        for number in 2 * count + 1...3 * count {
            #expect(chains.crossings(of: id("worker", 1), first: id("berlin/host", UInt64(number))) == 4)
        }
        #expect(chains.crossings(of: id("worker", 1), first: id("berlin/host", 1)) == 1)
    }

    @Test func identityOfNoProcessIsLeftOut() throws {
        let chains = CauseChains()
        chains.bring(try headers(1, root: "nonsense", crossings: 7))
        #expect(chains.crossings(of: id("worker", 1), first: id("berlin/host", 1)) == 1)
    }
}

import Testing

@testable import NATSGateway

@Suite struct ConsumerPlaceTests {
    @Test(arguments: [
        "$JS.ACK.BRIDGE-berlin.bridge-paris-3.1.17.5.1700000000.2",
        "$JS.ACK.domain.account.BRIDGE-berlin.bridge-paris-3.1.17.5.1700000000.2",
        "$JS.ACK._.account.BRIDGE-berlin.bridge-paris-3.1.17.5.1700000000.2.token",
    ])
    func placeIsRead(_ reply: String) throws {
        let place = try #require(ConsumerPlace(reply: reply))
        #expect(place.consumer == "bridge-paris-3")
        #expect(place.sequence == 17)
        #expect(place.delivery == 5)
        #expect(place.remaining == 2)
    }

    @Test(arguments: [
        "", "$JS.ACK", "_INBOX.a.b.c.d.e.f.g.h", "$JS.ACK.s.c.1.x.5.1.2", "$JS.ACK.s.c.1.-1.5.1.2",
        "$JS.ACK.s.c.1.18446744073709551615.5.1.2", "$JS.ACK.s.c.1.9223372036854775808.5.1.2",
        "$JS.ACK.s.c.1.99999999999999999999.5.1.2", "$JS.ACK.s.c.1.+17.5.1.2", "$JS.ACK.s.c.1.17.5.1",
        "$JS.ACK.s.c.1.17.5.1.", "$JS.ACK.domain.s.c.1.17.5.1.2", "........",
    ])
    func anythingElseIsNoPlace(_ reply: String) {
        #expect(ConsumerPlace(reply: reply) == nil)
    }

    @Test func nameAndNumberOfAConsumerAreOneToOne() throws {
        let paris = try node("paris-2")
        #expect(paris.number(ofConsumer: paris.consumer(17)) == 17)
        for name in ["bridge-paris-2-", "bridge-paris-2-017", "bridge-paris-2--1", "bridge-paris-17", "x", ""] {
            #expect(paris.number(ofConsumer: name) == nil)
        }
        #expect(paris.number(ofConsumer: "bridge-paris-2-18446744073709551615") == nil)
    }

    @Test(arguments: ["", "a.b", "a b", "a*", "é", String(repeating: "a", count: 65)])
    func nodeHasAPlainName(_ name: String) {
        #expect(Node(name) == nil)
    }

    @Test func subjectAndEventAreOneToOne() throws {
        let berlin = try node("berlin")
        for name in ["BoxOrdered", "a.b", "*", "é"] {
            #expect(berlin.event(of: berlin.subject(of: name)) == name)
            #expect(berlin.subject(of: name).split(separator: ".").count == 3)
        }
        for subject in ["bridge.paris.A", "bridge.berlin.A.B", "bridge.berlin.%", "A"] {
            #expect(berlin.event(of: subject) == nil)
        }
    }
}

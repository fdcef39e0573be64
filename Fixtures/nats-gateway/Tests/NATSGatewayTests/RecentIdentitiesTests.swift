import Testing

@testable import NATSGateway

@Suite struct RecentIdentitiesTests {
    private func reply(_ consumer: String, remaining: Int) -> String {
        "$JS.ACK.BRIDGE-berlin.\(consumer).1.7.1.0.\(remaining)"
    }

    @Test func onlyTheMessagesOfThisLooksConsumerCount() {
        var recent = RecentIdentities(from: "new")
        recent.take(reply: reply("new", remaining: 2), identity: "a")
        recent.take(reply: reply("old", remaining: 0), identity: "x")
        recent.take(reply: "", identity: "y")
        #expect(!recent.isComplete && recent.identities == ["a"])
        recent.take(reply: reply("new", remaining: 1), identity: nil)
        recent.take(reply: reply("new", remaining: 0), identity: "b")
        #expect(recent.isComplete && recent.identities == ["a", "b"])
    }
}

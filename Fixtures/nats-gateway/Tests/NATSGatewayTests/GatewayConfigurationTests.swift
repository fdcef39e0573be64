import Testing

@testable import NATSGateway

@Suite struct GatewayConfigurationTests {
    private func read(_ text: String, _ environment: [String: String] = [:]) throws -> GatewayConfiguration {
        try GatewayConfiguration(arguments: text.split(separator: " ").map(String.init), environment: environment)
    }

    @Test func everyOptionIsRead() throws {
        let text =
            "--node berlin --url nats://hub:4222 --credentials a.creds --export A,B --import paris=C,D --import rome=C"
            + " --stream-bytes 65536 --stream-hours 2 --longest-chain 20"
        let found = try read(text, ["NATS_URL": "nats://other:1"])
        #expect(found.node.name == "berlin")
        #expect(found.url == "nats://hub:4222")
        #expect(found.credentials == "a.creds")
        #expect(found.exports == ["A", "B"])
        #expect(found.imports == [try node("paris"): ["C", "D"], try node("rome"): ["C"]])
        #expect(found.streamBytes == 65_536)
        #expect(found.streamHours == 2)
        #expect(found.longestChain == 20)
    }

    @Test func environmentGivesWhatArgumentsLeaveOut() throws {
        let found = try read("--node berlin --export A", ["NATS_URL": "nats://hub:1", "NATS_CREDENTIALS": "b.creds"])
        #expect(found.url == "nats://hub:1")
        #expect(found.credentials == "b.creds")
        #expect(try read("--node berlin --export A").url == "nats://127.0.0.1:4222")
    }

    @Test(arguments: [
        ("", "--node is missing"), ("--node", "--node has no value"), ("--node a.b --export A", "the node \"a.b\""),
        ("--node a", "there is nothing to do"), ("--node a --nod b", "\"--nod\" is not known"),
        ("--node a --node b --export A", "given 2 times"), ("--node a --export A,", "the event \"\""),
        ("--node a --export *", "the event \"*\""), ("--node a --export A,A", "names an event twice"),
        ("--node a --import b", "expected NODE=NAME"), ("--node a --import a=B", "names this node"),
        ("--node a --import b=C --import b=D", "names \"b\" twice"),
        ("--node a --export A --stream-bytes 1", "expected a number from 65536"),
        ("--node a --export A --longest-chain 0", "expected a number from 1 to 1000"),
        ("--node a --export A --url ,", "--url has \",\", expected an address"),
        ("--node a --export A --url nats://a:1,", "--url has \"nats://a:1,\", expected an address"),
        ("--node a --export A --stream-hours 99999999999999999999", "expected a number from 1 to 100000"),
    ])
    func mistakeIsNamed(_ text: String, _ sentence: String) {
        #expect { try read(text) } throws: { "\($0)".contains(sentence) }
    }
}

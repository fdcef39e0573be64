/// What a gateway reads from the arguments in its worker's specification, and from the environment.
public struct GatewayConfiguration: Sendable, Equatable {
    /// The name of this node.
    public var node: Node
    /// The broker's address, or several with commas between them.
    public var url = "nats://127.0.0.1:4222"
    /// The path of a file with a user's JWT and NKey seed; nil for a broker that asks for none.
    public var credentials: String?
    /// The names of the events that leave this node.
    public var exports: [String] = []
    /// The names of the events that come from other nodes, by node.
    public var imports: [Node: Set<String>] = [:]
    /// How many bytes this node's stream may hold if this gateway makes it.
    public var streamBytes: Int64 = 1 << 30
    /// How many hours an event stays in the stream if this gateway makes it.
    public var streamHours: Int64 = 168
    /// How many times events with one first cause, each answering the one before, may cross from node to node.
    ///
    /// The default is far more than nodes need to talk about one event; handlers in a circle still reach it soon.
    public var longestChain = 256
    /// How many messages may be unanswered at a time, in each direction.
    let window = 256
    /// How long the broker may take to accept a connection, and to answer a request, in milliseconds.
    ///
    /// Tests that compare all sentences set it higher, so that a pause of the machine adds no sentence.
    var answerTime = NATSSettings.usualAnswerTime
    /// After this time the gateway assumes that a host that keeps places has kept the place of a stream's first event.
    ///
    /// No call says when the host's journal has an event. The journal has it within 10 ms by default, and an operating
    /// system writes what a program has written within some 30 s.
    var keepingTime = Duration.seconds(120)

    /// The environment variables that are read.
    public static let variables = ["NATS_URL", "NATS_CREDENTIALS"]

    /// What is wrong with the arguments, in a sentence.
    public struct Mistake: Error, Equatable, CustomStringConvertible {
        /// The sentence, which names the option, what was found and what was expected.
        public let description: String
    }

    /// Makes a configuration that exports and imports nothing yet.
    public init(node: Node) { self.node = node }

    /// Reads the arguments; what they leave out comes from the environment or has a default.
    public init(arguments: [String], environment: [String: String]) throws(Mistake) {
        var values: [String: [String]] = [:]
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard Self.options.contains(option) else {
                let known = Self.options.joined(separator: ", ")
                throw Mistake(description: "\"\(option)\" is not known; there are \(known)")
            }
            guard let value = rest.popFirst(), !value.isEmpty else {
                throw Mistake(description: "\(option) has no value")
            }
            values[option, default: []].append(value)
        }
        for (option, given) in values where given.count > 1 && option != "--import" {
            throw Mistake(description: "\(option) is given \(given.count) times, expected once")
        }
        func one(_ option: String) -> String? { values[option]?.first }

        guard let name = one("--node") else {
            throw Mistake(description: "--node is missing: the name of this node, such as --node berlin")
        }
        self.init(node: try Self.node(name, "--node"))
        if let url = one("--url") ?? environment["NATS_URL"], !url.isEmpty {
            guard url.split(separator: ",", omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty }) else {
                let option = one("--url") == nil ? "NATS_URL" : "--url"
                throw Mistake(
                    description: "\(option) has \"\(url)\", expected an address, or several with commas between"
                )
            }
            self.url = url
        }
        if let file = one("--credentials") ?? environment["NATS_CREDENTIALS"], !file.isEmpty { credentials = file }
        if let names = one("--export") { exports = try Self.names(names, "--export") }
        for text in values["--import"] ?? [] { try addImport(text) }
        if let text = one("--stream-bytes") {
            streamBytes = try Self.number(text, "--stream-bytes", in: 1 << 16...1 << 50)
        }
        if let text = one("--stream-hours") { streamHours = try Self.number(text, "--stream-hours", in: 1...100_000) }
        if let text = one("--longest-chain") {
            longestChain = Int(try Self.number(text, "--longest-chain", in: 1...1_000))
        }
        guard !exports.isEmpty || !imports.isEmpty else {
            throw Mistake(description: "there is nothing to do: neither --export nor --import is given")
        }
    }

    private static let options = [
        "--node", "--url", "--credentials", "--export", "--import", "--stream-bytes", "--stream-hours",
        "--longest-chain",
    ]

    private mutating func addImport(_ text: String) throws(Mistake) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 else {
            throw Mistake(description: "--import has \"\(text)\", expected NODE=NAME,NAME")
        }
        let other = try Self.node(parts[0], "--import")
        guard other != node else {
            throw Mistake(description: "--import names this node, \"\(node)\": its own events never come back")
        }
        guard imports[other] == nil else { throw Mistake(description: "--import names \"\(other)\" twice") }
        imports[other] = Set(try Self.names(parts[1], "--import"))
    }

    private static func node(_ name: String, _ option: String) throws(Mistake) -> Node {
        guard let node = Node(name) else {
            throw Mistake(
                description: "\(option) has the node \"\(name)\", expected 1 to 64 letters (A to Z), digits, - and _"
            )
        }
        return node
    }

    private static func names(_ text: String, _ option: String) throws(Mistake) -> [String] {
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        for name in names where !(1...256).contains(name.utf8.count) || name == "*" {
            throw Mistake(description: "\(option) has the event \"\(name)\", expected a name of 1 to 256 bytes")
        }
        guard Set(names).count == names.count else {
            throw Mistake(description: "\(option) names an event twice: \"\(text)\"")
        }
        return names
    }

    private static func number(
        _ text: String,
        _ option: String,
        in range: ClosedRange<Int64>
    ) throws(Mistake) -> Int64 {
        guard let number = Int64(text), range.contains(number) else {
            throw Mistake(
                description:
                    "\(option) has \"\(text)\", expected a number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return number
    }
}

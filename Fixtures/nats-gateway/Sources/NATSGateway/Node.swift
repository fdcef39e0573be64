/// One bridge among those that exchange events over NATS: its name, and the subjects and streams that follow from it.
public struct Node: Hashable, Sendable, CustomStringConvertible {
    /// The node's name: 1 to 64 letters (A to Z), digits, `-` and `_`.
    public let name: String

    /// Names a node.
    ///
    /// - Returns: Nil for a name that a node cannot have.
    public init?(_ name: String) {
        guard (1...64).contains(name.utf8.count), EscapedName.isPlain(name) else { return nil }
        self.name = name
    }

    /// The name.
    public var description: String { name }

    /// The stream that holds the node's events; its gateway is the only writer.
    var stream: String { "BRIDGE-\(name)" }

    /// All subjects of the node's events.
    ///
    /// An event's name is one token of the subject.
    var subjects: String { "bridge.\(name).*" }

    /// The subject at which the node's gateway answers, so that a second gateway notices the first.
    var presence: String { "bridge-gateway.\(name)" }

    func subject(of event: String) -> String { "bridge." + name + "." + EscapedName.text(of: event) }

    /// The name of the event with such a subject; nil for any other subject.
    func event(of subject: String) -> String? {
        let prefix = "bridge.\(name)."
        guard subject.utf8.starts(with: prefix.utf8) else { return nil }
        return EscapedName.name(in: String(subject.dropFirst(prefix.count)))
    }

    /// The name of a durable consumer with which this node reads another node's stream; newer ones have higher numbers.
    func consumer(_ number: UInt64) -> String { "bridge-\(name)-\(number)" }

    /// The number of a consumer of this node; nil for any other consumer's name.
    func number(ofConsumer consumer: String) -> UInt64? {
        let prefix = "bridge-\(name)-"
        guard consumer.utf8.starts(with: prefix.utf8), let number = UInt32(consumer.dropFirst(prefix.count)),
            self.consumer(UInt64(number)) == consumer
        else { return nil }
        return UInt64(number)
    }
}

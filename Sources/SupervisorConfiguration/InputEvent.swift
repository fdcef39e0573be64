import CBOR
package import DomainEvents
import JSONText

/// An event to publish, read from a line of the input or from the arguments of a command.
package struct InputEvent: Sendable, Hashable {
    /// Attributes of a printed event that do not matter for publishing.
    private static let ignored = [
        "specversion", "id", "source", "time", "sequence", "attempt", "replay", "causationid", "bookmark",
        "bookmark_base64", "datacontenttype", "dataschema", "subject",
    ]

    package let name: String
    /// The fields, in CBOR.
    package let payload: [UInt8]
    /// The event's place in a distributed trace.
    package let traceparent: Traceparent?

    /// Reads the event's fields from `data`, a JSON object.
    package init(name: String, data: [UInt8]) throws(InputMistake) {
        let node = try Self.read(data)
        guard case .object = node.value else {
            throw InputMistake("found \(ShownValue.text(node)), expected an object with the event's fields", at: node)
        }
        self.name = name
        payload = try Self.payload(of: node, named: nil)
        traceparent = nil
    }

    /// Reads the event from a line of JSON.
    package init(line: [UInt8]) throws(InputMistake) {
        let node = try Self.read(line)
        guard case .object(let members) = node.value else {
            throw InputMistake(
                "found \(ShownValue.text(node)), expected an object such as {\"type\": …, \"data\": {…}}"
            )
        }
        let known = ["type", "data", "traceparent"] + Self.ignored
        for member in members where !known.contains(member.key) {
            let question = NearestName.question(for: member.key, among: known)
            let hint = question.isEmpty ? "; known here are type and data" : question
            throw InputMistake(
                "found the unknown key \(ShownValue.text(member.key))\(hint)",
                column: member.keyLocation.column
            )
        }
        guard let type = node["type"] else {
            throw InputMistake("the key \"type\" is missing, expected the name of an event")
        }
        guard case .string(let name) = type.value, !name.isEmpty else {
            throw InputMistake("type: found \(ShownValue.text(type)), expected the name of an event", at: type)
        }
        guard let data = node["data"] else {
            throw InputMistake(
                "the key \"data\" is missing, expected an object with the fields of \(ShownValue.text(name))"
            )
        }
        guard case .object = data.value else {
            throw InputMistake(
                "data: found \(ShownValue.text(data)), expected an object with the event's fields",
                at: data
            )
        }
        self.name = name
        traceparent = try Self.traceparent(of: node)
        payload = try Self.payload(of: data, named: "data")
    }

    private static func read(_ text: [UInt8]) throws(InputMistake) -> JSONNode {
        do {
            return try JSONReader().read(text)
        } catch {
            throw InputMistake(error.message, column: error.column, line: error.line)
        }
    }

    /// - Parameter key: the key of the fields in the line; nil if the fields are the whole text.
    private static func payload(of fields: JSONNode, named key: String?) throws(InputMistake) -> [UInt8] {
        do throws(CBORError) {
            return try fields.cborValue.encoded()
        } catch {
            throw InputMistake("\(key.map { "\($0): " } ?? "")\(error)", at: fields)
        }
    }

    private static func traceparent(of node: JSONNode) throws(InputMistake) -> Traceparent? {
        guard let member = node["traceparent"] else { return nil }
        guard case .string(let text) = member.value, let traceparent = Traceparent(text) else {
            throw InputMistake(
                """
                traceparent: found \(ShownValue.text(member)), expected a W3C trace context such as \
                00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
                """,
                at: member
            )
        }
        return traceparent
    }
}

/// A mistake in the text of an event.
package struct InputMistake: Error, Sendable, Hashable {
    package let message: String
    /// The column in the line, counted from 1; nil for the line as a whole.
    package let column: Int?
    /// The number of the line in the text that was read, counted from 1.
    package let line: Int

    package init(_ message: String, column: Int? = nil, line: Int = 1) {
        self.message = message
        self.column = column
        self.line = line
    }

    fileprivate init(_ message: String, at node: JSONNode) {
        self.init(message, column: node.location.column, line: node.location.line)
    }

    /// The sentence, with the file, its line and the column in front.
    package func description(file: String, line: Int) -> String {
        "\(file):\(line):\(column.map { "\($0):" } ?? "") \(message)"
    }
}

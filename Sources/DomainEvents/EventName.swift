/// An event's name as a key: two names are equal if they have the same bytes.
///
/// Two `String`s are equal if they are canonically equivalent, such as é in one scalar and in two, or K and the sign
/// for kelvin. On the wire a name is its bytes. So a peer could mean two names where this process would see one.
package struct EventName: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The longest name in UTF-8 bytes: enough for nearly any type's name, and a limit for the names that peers send.
    package static let maximumBytes = 256

    /// Stands for all events in a list of wanted names; no event has this name.
    package static let everything: EventName = "*"

    package let text: String

    package init(_ text: String) { self.text = text }

    package init(stringLiteral text: String) { self.text = text }

    package var description: String { text }

    package static func set(_ names: some Sequence<String>) -> Set<EventName> { Set(names.map(EventName.init(_:))) }

    /// What is wrong with the name of an event; nil if the name is valid.
    ///
    /// - Parameter mayBeEverything: whether the name may be ``everything``.
    package static func mistake(in name: String, mayBeEverything: Bool = false) -> String? {
        let length = name.utf8.count
        guard (1...maximumBytes).contains(length) else {
            return "an event name has 1 to \(maximumBytes) bytes; found \(length)"
        }
        if !mayBeEverything, name == everything.text {
            return "no event has the name \"\(everything)\", by which a subscriber asks for all events"
        }
        return nil
    }

    package static func == (left: EventName, right: EventName) -> Bool { left.text.hasBytes(of: right.text) }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension String {
    /// Whether both strings have the same bytes; strings that are equal may have different bytes.
    package func hasBytes(of other: String) -> Bool {
        var (one, other) = (self, other)
        return one.withUTF8 { one in other.withUTF8 { one.elementsEqual($0) } }
    }
}

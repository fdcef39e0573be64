/// Says which invariant an event breaks.
public struct InvalidEvent: Error, Hashable, CustomStringConvertible {
    /// A sentence that names the field, what was found and what was expected.
    public let description: String

    init(_ description: String) {
        self.description = description
    }

    /// The longest text that the example's events carry, in Unicode scalars.
    public static let longestText = 4096

    static func check(_ text: String, named field: String) throws(InvalidEvent) {
        let length = text.unicodeScalars.count
        guard length <= longestText else {
            throw InvalidEvent("\(field) has \(length) characters; at most \(longestText) are allowed")
        }
    }
}

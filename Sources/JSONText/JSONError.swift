/// Why a text is not JSON: where, and a sentence that says what was found and what was expected.
package struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, for programs.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case byteOrderMark
        case wrongEncoding
        case invalidUTF8
        case endOfText
        case unexpectedCharacter
        case trailingContent
        case controlCharacter
        case invalidEscape
        case loneSurrogate
        case invalidNumber
        case numberOutOfRange
        case duplicateKey
        case tooDeep
        case tooManyValues
    }

    package let kind: Kind
    package let location: JSONLocation

    /// The sentence without the location, for callers that print `file:line:column:` themselves.
    package let message: String

    package var line: Int { location.line }
    package var column: Int { location.column }
    package var offset: Int { location.offset }

    package var description: String { "\(location) (byte \(offset)): \(message)" }
}

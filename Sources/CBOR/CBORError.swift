/// Why a CBOR item could not be read or written, at which byte, and where in the value.
package struct CBORError: Error, Sendable, Hashable {
    package enum Code: Sendable, Hashable {
        /// The bytes end before the item does.
        case unexpectedEnd
        /// The item is whole, but bytes follow it.
        case trailingBytes(count: Int)
        case depthExceeded(limit: Int)
        /// A length that no input can satisfy; refused before any memory is reserved for it.
        case countTooLarge(count: UInt64, bytesLeft: Int)
        /// A string of indefinite length holds something that is not a definite string of its own kind.
        case badChunk
        case unexpectedBreak
        case invalidUTF8
        case numberOutOfRange(value: String, type: String)
        case duplicateKey(String)
        case reservedAdditionalInformation(initialByte: UInt8)
        /// A simple value below 32 written in two bytes.
        case badSimpleValue(UInt8)
        case typeMismatch(expected: String, found: String)
        case missingKey(String)
        /// An array has fewer elements than the type asks for.
        case missingElement(index: Int)
        /// The enumeration has no case of this name.
        case unknownCase(String)
        /// The item is well-formed, but not a value of the type: the text says why.
        case invalidValue(String)
        case tooManyItems(limit: Int)
        case inputTooLarge(limit: Int)
        /// The publisher's value cannot be written as CBOR: the text says why.
        case valueNotEncodable(String)
    }

    package var code: Code

    /// The offset of the byte at which the mistake starts; when encoding, how many bytes the buffer held by then.
    package var offset: Int

    /// Where in the value the mistake is, such as `items[3].title`; empty at the outermost item.
    ///
    /// When decoding, only the error that the decoder throws has a path, none of those that a type catches on the way.
    /// When encoding, the path has only the beginning of a key of more than 1,024 bytes.
    package var path: String

    package init(_ code: Code, offset: Int, path: String = "") {
        self.code = code
        self.offset = offset
        self.path = path
    }
}

extension CBORError: CustomStringConvertible {
    package var description: String {
        let place = path.isEmpty ? "at byte \(offset)" : "at \(path) (byte \(offset))"
        return "\(code) \(place)."
    }

    /// The ``sentenceOfValue`` of an error of this type; for any other error, its own description.
    package static func sentence(of error: any Error) -> String {
        (error as? CBORError)?.sentenceOfValue ?? String(describing: error)
    }

    /// The sentence for a person who knows the value but not its bytes.
    ///
    /// For a mistake in the value the sentence has only the path. For a mistake in the bytes themselves it has the
    /// offset, as in ``description``.
    package var sentenceOfValue: String {
        guard code.isAboutValue else { return description }
        return path.isEmpty ? "\(code)." : "\(code) at \(path)."
    }
}

extension CBORError.Code {
    /// Whether the bytes are well-formed and only the value is wrong.
    fileprivate var isAboutValue: Bool {
        switch self {
        case .numberOutOfRange, .duplicateKey, .typeMismatch, .missingKey, .missingElement, .unknownCase, .invalidValue,
            .valueNotEncodable:
            true
        case .unexpectedEnd, .trailingBytes, .depthExceeded, .countTooLarge, .badChunk, .unexpectedBreak, .invalidUTF8,
            .reservedAdditionalInformation, .badSimpleValue, .tooManyItems, .inputTooLarge:
            false
        }
    }
}

extension CBORError.Code: CustomStringConvertible {
    /// The sentence without its place and full stop.
    package var description: String {
        switch self {
        case .unexpectedEnd:
            "The input ends in the middle of an item"
        case .trailingBytes(let count):
            "Expected nothing after the item but found \(count) more byte\(count == 1 ? "" : "s")"
        case .depthExceeded(let limit):
            "Values are nested more than \(limit) levels deep"
        case .countTooLarge(let count, let bytesLeft):
            "An item declares a length of \(count) but \(bytesLeft) bytes are left"
        case .badChunk:
            "A string of indefinite length holds something other than a definite string of its own kind"
        case .unexpectedBreak:
            "Expected a data item but found a break"
        case .invalidUTF8:
            "A text string is not valid UTF-8"
        case .numberOutOfRange(let value, let type):
            "The number \(value) does not fit in \(type)"
        case .duplicateKey(let key):
            "A map holds the key \(key) more than once"
        case .reservedAdditionalInformation(let byte):
            "The initial byte \(byte) uses reserved additional information"
        case .badSimpleValue(let value):
            "The simple value \(value) may not be written in two bytes"
        case .typeMismatch(let expected, let found):
            "Expected \(expected) but found \(found)"
        case .missingKey(let key):
            "The key \"\(key)\" is missing"
        case .missingElement(let index):
            "Expected an element with index \(index) but the array ends before it"
        case .unknownCase(let name):
            "Found the unknown case \"\(name)\""
        case .invalidValue(let reason):
            "The value was refused: \(reason)"
        case .tooManyItems(let limit):
            "The input holds more than \(limit) items"
        case .inputTooLarge(let limit):
            "The input is larger than \(limit) bytes"
        case .valueNotEncodable(let reason):
            "The value cannot be encoded: \(reason)"
        }
    }
}

public import Foundation

/// Why a notification did not become an event, or an event did not become a notification.
public struct NotificationError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Sendable, Hashable {
        /// The dictionary does not have what the event needs.
        case notDecodable
        /// The event from the dictionary breaks a rule of its own (`validate()`).
        case invalid
        /// The event's fields could not be put into a dictionary.
        case notEncodable
    }

    /// The kind of failure.
    public let code: Code

    /// The notification's name.
    public let notification: Notification.Name

    /// The name of the event.
    public let event: String

    /// The path of the field, such as `box.id` or `items[2].title`; empty for the dictionary as a whole.
    public let path: String

    /// What was found at the path, in words; for an invalid event, the error of `validate()`.
    public let found: String

    /// What was expected at the path, in words.
    public let expected: String

    /// The failure in a sentence.
    public var description: String {
        let field = path.isEmpty ? "the dictionary" : path
        let name = notification.rawValue
        return switch code {
        case .notDecodable: "notification \"\(name)\" is no \(event): \(field) should be \(expected) and is \(found)"
        case .invalid: "notification \"\(name)\" is an invalid \(event): \(found)"
        case .notEncodable: "\(event) cannot be posted as \"\(name)\": \(field) should be \(expected) and is \(found)"
        }
    }
}

/// Gives a program that shows errors by their `localizedDescription` the same sentence as `description`.
extension NotificationError: LocalizedError {
    /// The same as ``NotificationError/description``.
    public var errorDescription: String? { description }
}

extension NotificationError {
    init(_ code: Code, _ notification: Notification.Name, _ event: String, _ error: any Error) {
        let mismatch = FieldMismatch(error, in: event)
        self.init(
            code: code,
            notification: notification,
            event: event,
            path: mismatch.path,
            found: mismatch.found,
            expected: mismatch.expected
        )
    }
}

/// The expected and the found value of a field; the decoder's errors have this as their underlying error.
struct FieldMismatch: Error {
    let path: String
    let found: String
    let expected: String

    init(at path: [any CodingKey], found: String, expected: String) {
        self.path = Self.text(path)
        self.found = found
        self.expected = expected
    }

    /// Reads any error that a type's own coding has thrown.
    init(_ error: any Error, in type: String) {
        let (context, expected): (DecodingError.Context?, String) =
            switch error {
            case DecodingError.typeMismatch(let expected, let context): (context, "\(expected)")
            case DecodingError.valueNotFound(let expected, let context): (context, "\(expected)")
            case DecodingError.keyNotFound(let key, let context): (context, "something with the key \(key.stringValue)")
            case DecodingError.dataCorrupted(let context): (context, "valid")
            default: (nil, "valid")
            }
        if let mismatch = context?.underlyingError as? FieldMismatch {
            self = mismatch
        } else if let context {
            self.init(at: context.codingPath, found: context.debugDescription, expected: expected)
        } else if case EncodingError.invalidValue(let value, let context) = error {
            self.init(at: context.codingPath, found: "\(value): \(context.debugDescription)", expected: "encodable")
        } else {
            self.init(at: [], found: "\(error)", expected: "a valid \(type)")
        }
    }

    private static func text(_ path: [any CodingKey]) -> String {
        path.reduce(into: "") { text, key in
            if let index = key as? IndexKey {
                text += "[\(index.index)]"
            } else {
                text += text.isEmpty ? key.stringValue : ".\(key.stringValue)"
            }
        }
    }
}

/// A position in an array.
struct IndexKey: CodingKey {
    let index: Int

    init(_ index: Int) { self.index = index }

    init?(intValue: Int) { self.init(intValue) }
    init?(stringValue: String) { nil }

    var stringValue: String { "\(index)" }
    var intValue: Int? { index }
}

/// A dictionary key that is not among a type's own keys.
struct NameKey: CodingKey {
    let stringValue: String

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }

    var intValue: Int? { nil }

    /// The key of an event that is no dictionary, in the dictionary that every notification has.
    static let value = NameKey(stringValue: "value")
    /// The key under which coding puts the fields of a class's superclass.
    static let superclass = NameKey(stringValue: "super")
}

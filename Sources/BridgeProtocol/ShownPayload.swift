package import CBOR
import JSONText

/// An event's payload in a form that can be shown or translated without the event's type.
///
/// Whatever the payload says, the form and its JSON take at most four times the payload's bytes, plus a constant of
/// some dozen MiB.
package enum ShownPayload: Sendable, Hashable {
    case value(CBORValue)
    /// A payload without such a form: the publisher may send any bytes, and no process on the way checks them.
    case bytes([UInt8], because: Reason)

    package enum Reason: Sendable, Hashable, CustomStringConvertible {
        case isNoCBOR
        /// The payload has more values than a worker's line may have: each takes some dozen bytes of memory, even if it
        /// has only one byte in the payload.
        case hasTooManyValues
        /// The text has many control characters; JSON makes six bytes of most of them.
        case growsInJSON
        /// Two keys are one key in JSON, such as 1 and "1".
        case hasTwinKeysInJSON

        package var description: String {
            switch self {
            case .isNoCBOR: "that are no CBOR"
            case .hasTooManyValues: "with more than \(LineMessage.maximumValues) values"
            case .growsInJSON: "whose text is more than twice as long in JSON"
            case .hasTwinKeysInJSON: "with two keys that are one in JSON"
            }
        }
    }

    /// Up to this many bytes, a payload's text in JSON is never too long.
    private static let harmlessText = 1 << 16

    package init(_ payload: UnsafeRawBufferPointer) {
        let limits = CBORLimits(maximumItems: LineMessage.maximumValues)
        do throws(CBORError) {
            let value = try CBORValue(decoding: payload, limits: limits)
            let isSmall = payload.count <= Self.harmlessText / JSONEscaping.longestEscape
            if !isSmall, JSONWriter.bytesOfText(in: value) > max(2 * payload.count, Self.harmlessText) {
                self = .bytes(Array(payload), because: .growsInJSON)
            } else if JSONWriter.hasTwinKeys(in: value) {
                self = .bytes(Array(payload), because: .hasTwinKeysInJSON)
            } else {
                self = .value(value)
            }
        } catch {
            let isTooMany = if case .tooManyItems = error.code { true } else { false }
            self = .bytes(Array(payload), because: isTooMany ? .hasTooManyValues : .isNoCBOR)
        }
    }
}

package import CBOR

/// An event's payload in the form in which it can be shown to who does not know its type.
package enum ShownPayload: Sendable, Hashable {
    case value(CBORValue)
    /// What is no CBOR: a worker sends what it likes, and nobody on the way looks into it.
    case bytes([UInt8])

    package init(_ payload: UnsafeRawBufferPointer) {
        do throws(CBORError) {
            self = .value(try CBORValue(decoding: payload))
        } catch {
            self = .bytes(Array(payload))
        }
    }
}

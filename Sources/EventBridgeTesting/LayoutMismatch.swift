import BridgeProtocol
public import DomainEvents

/// What is wrong with an event type's layout, as far as this event shows; nil if nothing is.
///
/// Writes the event by its layout and by way of `Codable`, compares the bytes, and makes events of them both ways. An
/// event with every field filled in, and one without those that may be nil, show most of what can be wrong:
///
/// ```swift
/// #expect(try layoutMismatch(of: BoxProvisioned(boxID: 1, label: "one")) == nil)
/// ```
///
/// - Returns: A sentence that names the first field in which the two differ.
/// - Throws: What encoding or decoding the event by way of `Codable` throws, and what the layout's initializer throws.
public func layoutMismatch<E: LaidOutEvent>(of event: E) throws -> String? {
    try PayloadCoder<E>().mismatch(for: event)
}

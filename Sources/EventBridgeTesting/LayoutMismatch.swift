import BridgeProtocol
public import DomainEvents

/// Finds a mistake in an event type's layout, as far as this event shows it; nil if there is none.
///
/// It writes the event by its layout and by way of `Codable`, compares the bytes, and makes events of them both ways.
/// Two events show most of what can be wrong: one with every field filled in, and one without the fields that may be
/// nil:
///
/// ```swift
/// #expect(try layoutMismatch(of: BoxProvisioned(boxID: 1, label: "one")) == nil)
/// ```
///
/// - Returns: A sentence that names the first field that differs.
/// - Throws: The errors of encoding or decoding the event by way of `Codable`, and those of the layout's initializer.
public func layoutMismatch<E: LaidOutEvent>(of event: E) throws -> String? {
    try PayloadCoder<E>().mismatch(for: event)
}

import BridgeProtocol
public import DomainEvents

/// Compares this event, encoded by its type's layout, with the event encoded through `Codable`.
///
/// A difference is a mistake in the layout. The function writes the event both ways, compares the bytes, and reads them
/// back both ways. Two events show most mistakes: an event with every field filled in, and an event without the fields
/// that may be nil:
///
/// ```swift
/// #expect(try layoutMismatch(of: BoxProvisioned(boxID: 1, label: "one")) == nil)
/// ```
///
/// - Returns: A sentence about the first difference, in most cases with the field's name; nil if nothing differs.
/// - Throws: Errors of encoding or decoding the event through `Codable`, and errors of the layout's initializer.
public func layoutMismatch<E: LaidOutEvent>(of event: E) throws -> String? {
    try PayloadCoder<E>().mismatch(for: event)
}

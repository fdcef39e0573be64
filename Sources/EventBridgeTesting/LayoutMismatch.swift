import BridgeProtocol
public import DomainEvents

/// Finds a mistake in an event type's layout that this event shows; returns nil if the event shows none.
///
/// The function writes the event by its layout and through `Codable`, compares the bytes, and reads them back both
/// ways. Two events show most mistakes: an event with every field filled in, and an event without the fields that may
/// be nil:
///
/// ```swift
/// #expect(try layoutMismatch(of: BoxProvisioned(boxID: 1, label: "one")) == nil)
/// ```
///
/// - Returns: A sentence that names the first field that differs, or says that the numbers of fields differ.
/// - Throws: Errors of encoding or decoding the event through `Codable`, and errors of the layout's initializer.
public func layoutMismatch<E: LaidOutEvent>(of event: E) throws -> String? {
    try PayloadCoder<E>().mismatch(for: event)
}

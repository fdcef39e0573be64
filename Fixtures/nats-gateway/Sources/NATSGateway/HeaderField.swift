/// A field of a message's header.
struct HeaderField {
    let name: StaticString
    let value: String
}

extension StaticString {
    /// The text with a zero at its end, as a literal has one.
    var cString: UnsafePointer<CChar> { UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self) }
}

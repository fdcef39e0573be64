/// A peer's breach of the protocol; the link is closed for it.
package struct LinkViolation: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

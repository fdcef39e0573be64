/// A peer's breach of the protocol, which ends the link.
package struct LinkViolation: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

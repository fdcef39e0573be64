import CBOR

/// A number as a peer wrote it: any 64 bits, and not checked.
///
/// It has no arithmetic and converts to no integer by itself, so no number of a peer reaches an operation that traps.
/// The receiver compares it, looks it up, passes it on as it came, or gets an integer within the receiver's own bounds
/// from `within` or `clamped`. Sums of such numbers saturate: ``saturatingSum(_:)``.
package struct UntrustedNumber: Hashable, Sendable, BitwiseCopyable {
    /// The bits as they came: to be compared, looked up, shown, stored or passed on, and never computed with.
    ///
    /// `.ci/peer-numbers.py` checks every line that reads it.
    package let asWritten: UInt64

    package static let max = UntrustedNumber(.max)

    @inlinable
    package init(_ number: UInt64) {
        asWritten = number
    }

    /// The number, if it lies within bounds that this side has set; nil otherwise.
    @inlinable
    package func within(_ bounds: ClosedRange<UInt64>) -> UInt64? {
        bounds.contains(asWritten) ? asWritten : nil
    }

    /// The number as a length or offset, if it lies within this side's bounds, which are not negative; nil otherwise.
    @inlinable
    package func within(_ bounds: ClosedRange<Int>) -> Int? {
        guard let number = Int(exactly: asWritten), bounds.contains(number) else { return nil }
        return number
    }

    /// The number, or the nearer of this side's two bounds if it lies outside them; neither bound is negative.
    @inlinable
    package func clamped(to bounds: ClosedRange<Int>) -> Int {
        Swift.min(Swift.max(Int(clamping: asWritten), bounds.lowerBound), bounds.upperBound)
    }

    /// The number, or this side's limit if the number is larger.
    @inlinable
    package func clamped(to limit: UInt64) -> UInt64 { min(asWritten, limit) }

    /// The sum of both, or ``max`` if the sum is larger.
    package func saturatingSum(_ other: UntrustedNumber) -> UntrustedNumber {
        let (sum, overflow) = asWritten.addingReportingOverflow(other.asWritten)
        return overflow ? .max : UntrustedNumber(sum)
    }
}

extension UntrustedNumber: Comparable {
    @inlinable
    package static func < (left: UntrustedNumber, right: UntrustedNumber) -> Bool { left.asWritten < right.asWritten }
}

// Comparisons with a number of this side; the peer's number stays untrusted.
extension UntrustedNumber {
    @inlinable
    package static func == (left: UntrustedNumber, right: UInt64) -> Bool { left.asWritten == right }
    @inlinable
    package static func != (left: UntrustedNumber, right: UInt64) -> Bool { left.asWritten != right }
    @inlinable
    package static func < (left: UntrustedNumber, right: UInt64) -> Bool { left.asWritten < right }
    @inlinable
    package static func <= (left: UntrustedNumber, right: UInt64) -> Bool { left.asWritten <= right }
    @inlinable
    package static func > (left: UntrustedNumber, right: UInt64) -> Bool { left.asWritten > right }
    @inlinable
    package static func >= (left: UntrustedNumber, right: UInt64) -> Bool { left.asWritten >= right }
}

extension UntrustedNumber: ExpressibleByIntegerLiteral {
    @inlinable
    package init(integerLiteral number: UInt64) {
        self.init(number)
    }
}

extension UntrustedNumber: CustomStringConvertible {
    package var description: String { asWritten.description }
}

extension CBORReader {
    /// Reads an unsigned integer that a peer has written.
    @inline(__always)
    mutating func readNumber() throws(CBORError) -> UntrustedNumber {
        UntrustedNumber(try readUnsigned())
    }
}

extension CBORWriter {
    /// Writes a number of a message as it is, whichever side it comes from.
    @inline(__always)
    func unsigned(_ number: UntrustedNumber) {
        unsigned(number.asWritten)
    }
}

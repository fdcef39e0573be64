#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The time of an event as RFC 3339 writes it, to the nanosecond.
enum EventTime {
    static func text(of nanoseconds: UInt64) -> String {
        let seconds = Date(timeIntervalSince1970: Double(nanoseconds / 1_000_000_000))
        let fraction = String(nanoseconds % 1_000_000_000 + 1_000_000_000).dropFirst()
        return "\(seconds.formatted(.iso8601).dropLast()).\(fraction)Z"
    }

    /// The nanoseconds since 1970; nil for another text, and for a time that no event has.
    static func nanoseconds(of text: String) -> UInt64? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].last == "Z", let date = try? Date("\(parts[0])Z", strategy: .iso8601) else {
            return nil
        }
        let digits = parts[1].dropLast()
        guard (1...9).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let fraction = UInt64(digits + String(repeating: "0", count: 9 - digits.utf8.count)),
            let seconds = UInt64(exactly: date.timeIntervalSince1970)
        else { return nil }
        let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isTooLate) = whole.addingReportingOverflow(fraction)
        return overflows || isTooLate ? nil : sum
    }
}

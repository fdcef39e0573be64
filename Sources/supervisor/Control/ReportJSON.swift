import CBOR
import JSONText

/// Writes a report for programs: one JSON object, in a line.
enum ReportJSON {
    static func text(_ report: some Encodable) -> String { text(value(report)) }

    static func text(_ value: CBORValue) -> String { JSONWriter().text(value) }

    static func value(_ report: some Encodable) -> CBORValue {
        let buffer = CBORBuffer()
        // CBOR can represent every value of a report.
        guard (try? CBOREncoder().encode(report, into: buffer)) != nil,
            let value = Array(buffer.bytes).withUnsafeBytes({ try? CBORValue(decoding: $0) })
        else { return .map([]) }
        return value
    }
}

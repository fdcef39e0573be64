import CBOR
import JSONText

/// How a report is written for programs: one JSON object, in a line.
enum ReportJSON {
    static func text(_ report: some Encodable) -> String { text(value(report)) }

    static func text(_ value: CBORValue) -> String { JSONWriter().text(value) }

    static func value(_ report: some Encodable) -> CBORValue {
        let buffer = CBORBuffer()
        // A report has no value that CBOR cannot say.
        guard (try? CBOREncoder().encode(report, into: buffer)) != nil,
            let value = Array(buffer.bytes).withUnsafeBytes({ try? CBORValue(decoding: $0) })
        else { return .map([]) }
        return value
    }
}

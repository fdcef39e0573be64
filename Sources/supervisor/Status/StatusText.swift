import BridgeControl
import CBOR
import JSONText

/// How a report is written where nobody looks at it in place.
enum StatusText {
    /// One JSON object, in a line.
    static func json(_ report: BridgeReport) -> String {
        let buffer = CBORBuffer()
        // A report has no value that CBOR cannot say.
        guard (try? CBOREncoder().encode(report, into: buffer)) != nil,
            let value = Array(buffer.bytes).withUnsafeBytes({ try? CBORValue(decoding: $0) })
        else { return "{}" }
        return JSONWriter().text(value)
    }
}

import BridgeProtocol
import JSONText

extension ShownPayload {
    /// For people: JSON, or how many bytes it has that are none.
    var text: [UInt8] {
        switch self {
        case .value(let value):
            var text: [UInt8] = []
            JSONWriter().write(value, to: &text)
            return text
        case .bytes(let bytes, let reason): return Array("(\(bytes.count) bytes \(reason))".utf8)
        }
    }
}

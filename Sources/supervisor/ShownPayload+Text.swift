import BridgeProtocol
import JSONText

extension ShownPayload {
    /// The payload for people: as JSON, or the number of its bytes if it cannot be shown so.
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

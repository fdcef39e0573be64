import BridgeProtocol
import JSONText

extension ShownPayload {
    /// The payload for people: as JSON, or its number of bytes if it cannot be shown as JSON.
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

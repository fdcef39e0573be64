import CBOR

/// Turns events into bytes and back, with coders and a buffer that are used again.
final class PathCodec {
    private let encoder = CBOREncoder()
    private let decoder = CBORDecoder()
    private let buffer = CBORBuffer()

    func pass(_ id: Int64) throws {
        buffer.removeAll()
        try encoder.encode(PathTravelled(id: id, title: PathTitle.of(id)), into: buffer)
        let event = try decoder.decode(PathTravelled.self, from: buffer.bytes)
        guard event.id == id, event.title == PathTitle.of(id) else {
            EventPath.end("event \(event.id) was decoded where \(id) was expected", 70)
        }
    }
}

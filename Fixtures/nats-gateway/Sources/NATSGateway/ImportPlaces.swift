/// The places of a gateway in the streams that it reads, as the host keeps them: in the bookmark of each event.
///
/// A bookmark has the places in all streams, because the host keeps only the last bookmark of this gateway. So the
/// events of all streams go to the host one after the other.
public struct ImportPlaces: Sendable {
    /// A place in one stream.
    struct Place: Sendable, Equatable {
        /// When the stream was made, in nanoseconds since 1970; another time means another stream.
        let created: Int64
        /// The place of the last message whose event the host has; 0 before the first.
        let sequence: UInt64
    }

    /// The places up to which the host has the events.
    private(set) var known: [Node: Place]

    /// The most streams whose places a bookmark of 256 bytes can have.
    public static let most = 10
    /// A node's hash, the time of the stream and the place, eight bytes each.
    private static let entryBytes = 24

    /// - Parameters:
    ///   - nodes: the nodes whose streams are read, ``most`` at most.
    ///   - bookmark: the last bookmark of this gateway that the host has kept; nil if there is none.
    public init(of nodes: [Node], bookmark: [UInt8]?) {
        known = [:]
        let bytes = bookmark ?? []
        for start in stride(from: 0, to: bytes.count - bytes.count % Self.entryBytes, by: Self.entryBytes) {
            func number(_ index: Int) -> UInt64 {
                bytes[(start + 8 * index)..<(start + 8 * index + 8)].reduce(0) { $0 << 8 | UInt64($1) }
            }
            guard let node = nodes.first(where: { Self.hash($0) == number(0) }),
                let created = Int64(exactly: number(1)), let sequence = Int64(exactly: number(2))
            else { continue }
            known[node] = Place(created: created, sequence: UInt64(clamping: sequence))
        }
    }

    /// The bookmark of an event from a place in a node's stream.
    func bookmark(at place: Place, of node: Node) -> [UInt8] {
        var next = known
        next[node] = place
        return Self.bookmark(next)
    }

    /// Notes that the host has the events up to this place.
    mutating func take(_ place: Place, of node: Node) { known[node] = place }

    static func bookmark(_ places: [Node: Place]) -> [UInt8] {
        places.sorted { $0.key.description < $1.key.description }.flatMap { node, place in
            [hash(node), UInt64(clamping: place.created), place.sequence]
                .flatMap { number in withUnsafeBytes(of: number.bigEndian) { Array($0) } }
        }
    }

    /// FNV-1a, which is the same in each process.
    private static func hash(_ node: Node) -> UInt64 {
        node.description.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

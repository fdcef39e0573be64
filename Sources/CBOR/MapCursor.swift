/// How far the reading of one map has come, so that a key that comes next in the bytes is found at once.
struct MapCursor {
    /// The offset of the map's head; -1 before the cursor is used.
    var map = -1
    /// The offset of the first key.
    var first = 0
    /// How many entries there are, -1 for a map of indefinite length.
    var count = 0
    /// The offset of the key that comes next.
    var position = 0
    /// How many entries lie before `position`.
    var entry = 0
    /// How many searches have come to the end of the map, if it is long.
    var rounds = 0
    /// The table of keys, made when a search has compared many keys, or when many searches have come to the end.
    var table: KeyTable?

    /// Goes to the first key of a map.
    @inline(__always)
    mutating func reset(to place: MapPlace) {
        map = place.head
        first = place.first
        count = place.count
        position = place.first
        entry = 0
        rounds = 0
        if table != nil { table = nil }
    }
}

/// A cursor in memory of its own, for a container that the session does not keep.
final class FreeCursor {
    let session: DecodingSession
    let cursor: UnsafeMutablePointer<MapCursor>

    init(session: DecodingSession, map: MapPlace) {
        self.session = session
        cursor = .allocate(capacity: 1)
        cursor.initialize(to: MapCursor())
        cursor.pointee.reset(to: map)
    }

    deinit {
        cursor.deinitialize(count: 1)
        cursor.deallocate()
    }
}

/// A map in the bytes: the offsets of its head and of its first key, and how many pairs it declares.
struct MapPlace: BitwiseCopyable {
    let head: Int
    let first: Int
    /// How many pairs the map declares; -1 for indefinite length.
    let count: Int

    /// A map without entries.
    static let none = MapPlace(head: 0, first: 0, count: 0)
}

/// Compares two runs of bytes that are at least `count` long.
@inline(__always)
func equalBytes(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer, count: Int) -> Bool {
    if count >= 8 {
        var index = 0
        while index < count &- 8 {
            guard isEqual(left, right, at: index, as: UInt64.self) else { return false }
            index &+= 8
        }
        // The last word may overlap the one before.
        return isEqual(left, right, at: count &- 8, as: UInt64.self)
    }
    if count >= 4 {
        return isEqual(left, right, at: 0, as: UInt32.self) && isEqual(left, right, at: count &- 4, as: UInt32.self)
    }
    if count >= 2 {
        return isEqual(left, right, at: 0, as: UInt16.self) && isEqual(left, right, at: count &- 2, as: UInt16.self)
    }
    return count <= 0 || isEqual(left, right, at: 0, as: UInt8.self)
}

@inline(__always)
private func isEqual<Word: FixedWidthInteger & BitwiseCopyable>(
    _ left: UnsafeRawPointer,
    _ right: UnsafeRawPointer,
    at offset: Int,
    as type: Word.Type
) -> Bool {
    left.loadUnaligned(fromByteOffset: offset, as: type) == right.loadUnaligned(fromByteOffset: offset, as: type)
}

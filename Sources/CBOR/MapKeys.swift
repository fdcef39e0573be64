/// The keys met so far in one map; finds a key that comes twice, in time linear in the number of keys.
///
/// The first sixteen keys lie in the value itself. More keys go to a hash table that grows with the keys that are
/// really there, never with the count that the map declares.
struct MapKeys {
    private static let inlineCapacity = 16

    private let mapOffset: Int
    private var count = 0
    /// In each slot, the high 32 bits hold half of a key's fingerprint, and the low 32 bits its offset in the map.
    private var slots = SIMD16<UInt64>()
    /// A bit for each key: a key whose bit is not set is new, and is compared with no other key.
    private var filter: UInt64 = 0
    private var table: KeyTable?

    init(mapOffset: Int) {
        self.mapOffset = mapOffset
    }

    /// Notes the well-formed key that starts at an offset; throws if the map has the key already.
    @inline(__always)
    mutating func insert(
        keyAt offset: Int,
        endingAt end: Int,
        in bytes: UnsafeRawBufferPointer
    ) throws(CBORError) {
        guard let relative = UInt32(exactly: offset &- mapOffset) else {
            throw CBORError(.inputTooLarge(limit: Int(UInt32.max)), offset: offset)
        }
        guard count < MapKeys.inlineCapacity else {
            try insertIntoTable(relative, offset, bytes)
            return
        }
        guard let fingerprint = MapKeys.fingerprint(at: offset, endingAt: end, in: bytes) else { return }
        let bit = UInt64(1) << (fingerprint >> 58)
        if filter & bit != 0 { try refuseTwin(fingerprint, offset, bytes) }
        filter |= bit
        // The vector's subscript is avoided, because it would copy the whole vector.
        let slot = fingerprint << 32 | UInt64(relative)
        let position = count
        withUnsafeMutableBytes(of: &slots) { $0.storeBytes(of: slot, toByteOffset: position &* 8, as: UInt64.self) }
        count &+= 1
    }

    /// The fingerprint of a key: made from the bytes of short text in its usual spelling, else from the key's meaning.
    @inline(__always)
    private static func fingerprint(at offset: Int, endingAt end: Int, in bytes: UnsafeRawBufferPointer) -> UInt64? {
        let initialByte = bytes[offset]
        guard initialByte >= 0x60, initialByte < 0x78, end <= bytes.count else {
            return MapKey(at: offset, in: bytes)?.fingerprint
        }
        return MapKey.fingerprint(of: UnsafeRawBufferPointer(rebasing: bytes[(offset &+ 1)..<end]))
    }

    @inline(never)
    private func refuseTwin(
        _ fingerprint: UInt64,
        _ offset: Int,
        _ bytes: UnsafeRawBufferPointer
    ) throws(CBORError) {
        for index in 0..<count where slots[index] >> 32 == fingerprint & 0xFFFF_FFFF {
            guard let key = MapKey(at: offset, in: bytes), key == self.key(at: offsetInMap(index), in: bytes)
            else { continue }
            throw CBORError(.duplicateKey(key.description), offset: offset)
        }
    }

    private func offsetInMap(_ index: Int) -> UInt32 { UInt32(truncatingIfNeeded: slots[index]) }

    private func key(at relative: UInt32, in bytes: UnsafeRawBufferPointer) -> MapKey? {
        MapKey(at: mapOffset &+ Int(relative), in: bytes)
    }

    @inline(never)
    private mutating func insertIntoTable(
        _ relative: UInt32,
        _ offset: Int,
        _ bytes: UnsafeRawBufferPointer
    ) throws(CBORError) {
        guard let key = MapKey(at: offset, in: bytes) else { return }
        if table == nil {
            var table = KeyTable()
            for index in 0..<count {
                guard let known = self.key(at: offsetInMap(index), in: bytes) else { continue }
                table.insert(hash: known.hash, offset: offsetInMap(index), entry: index)
            }
            self.table = table
        }
        let hash = key.hash
        let twin = table?.first(withHash: hash) { key == self.key(at: $0, in: bytes) }
        if twin != nil { throw CBORError(.duplicateKey(key.description), offset: offset) }
        table?.insert(hash: hash, offset: relative, entry: 0)
    }
}

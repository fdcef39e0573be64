/// The bytes of one decoding, and what the decoding has found out about them so far.
///
/// This is only a pointer, which costs nothing to copy. Its user must keep alive the session, which owns the memory.
struct DecodingInput: BitwiseCopyable {
    struct State {
        /// The bytes being read; while `count` is 0, nothing reads what this points to.
        var base: UnsafeRawPointer
        var count = 0
        let limits: CBORLimits

        /// The offset of the map that was last read to its end, and the offset of that end.
        var finishedMap = -1
        var finishedEnd = 0

        /// The cost so far of the coding paths for which the value's types have asked.
        var paths = PathAllowance()

        /// Whether any cursor has got a table.
        var hasTables = false

        /// A map with a single key that named no case of the enumeration being read.
        var unmatchedCase: (map: Int, key: Int)?

        /// Memory that values may keep, if the bytes lie there; nil for none.
        var lender: LentBytes?
    }

    let state: UnsafeMutablePointer<State>

    @inline(__always)
    var base: UnsafeRawPointer { state.pointee.base }

    @inline(__always)
    var count: Int { state.pointee.count }

    @inline(__always)
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    @inline(__always)
    var limits: CBORLimits { state.pointee.limits }

    @inline(__always)
    func reader(at offset: Int) -> CBORReader {
        CBORReader(bytes, position: offset, limits: limits)
    }

    /// The end of the map that was read last, if that map is at `offset`; saves passing over it again.
    @inline(__always)
    func knownEnd(ofMapAt offset: Int) -> Int? {
        state.pointee.finishedMap == offset ? state.pointee.finishedEnd : nil
    }

    func end(ofItemAt offset: Int) throws(CBORError) -> Int {
        if let end = knownEnd(ofMapAt: offset) { return end }
        var reader = reader(at: offset)
        try reader.skipCheckedItem(levelsLeft: limits.maximumDepth)
        return reader.position
    }

    /// Where the content of an item begins, after tag 55799 if there is one; the tag only marks the bytes as CBOR.
    @inline(__always)
    func skippingSelfDescription(at offset: Int) throws(CBORError) -> Int {
        // Tag 55799 is the three bytes D9 D9 F7.
        guard offset < count, bytes[offset] == 0xD9 else { return offset }
        var reader = reader(at: offset)
        let tag = try reader.readTag()
        return tag == CBORTag.selfDescribed ? reader.position : offset
    }
}

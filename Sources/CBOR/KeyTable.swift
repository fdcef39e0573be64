/// An open-addressed hash table from map keys to their offsets in the bytes.
struct KeyTable {
    private struct Slot {
        var hash: UInt32 = 0
        var offset: UInt32 = KeyTable.vacant
        var entry: UInt32 = 0
    }

    private static let vacant = UInt32.max

    private var slots = [Slot](repeating: Slot(), count: 64)
    private(set) var count = 0

    mutating func insert(hash: UInt32, offset: UInt32, entry: Int) {
        if count &* 2 >= slots.count { grow() }
        place(Slot(hash: hash, offset: offset, entry: UInt32(truncatingIfNeeded: entry)))
        count &+= 1
    }

    /// The first key with this hash that `matches` accepts; nil if it accepts none.
    func first(withHash hash: UInt32, where matches: (_ offset: UInt32) -> Bool) -> (offset: UInt32, entry: Int)? {
        let mask = slots.count &- 1
        var index = Int(hash) & mask
        while slots[index].offset != KeyTable.vacant {
            let slot = slots[index]
            if slot.hash == hash, matches(slot.offset) { return (slot.offset, Int(slot.entry)) }
            index = (index &+ 1) & mask
        }
        return nil
    }

    private mutating func place(_ slot: Slot) {
        let mask = slots.count &- 1
        var index = Int(slot.hash) & mask
        while slots[index].offset != KeyTable.vacant { index = (index &+ 1) & mask }
        slots[index] = slot
    }

    private mutating func grow() {
        let old = slots
        slots = [Slot](repeating: Slot(), count: old.count * 2)
        for slot in old where slot.offset != KeyTable.vacant { place(slot) }
    }
}

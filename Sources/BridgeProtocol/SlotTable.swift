/// Knows which slots of a shared memory hold something, and hands out slots in a row, as low as possible.
final class SlotTable {
    private let memory: any OutboxMemory
    private let base: UnsafeMutableRawPointer
    /// Where the first slot begins.
    private let start: Int
    private var isTaken: [Bool]

    /// Makes the table of the slots from `start` on; nil if the memory has no room for a single slot.
    init?(_ memory: any OutboxMemory, from start: Int) {
        let slots = (memory.bytes.count - start) / OutboxLayout.slotBytes
        guard slots > 0, let base = memory.bytes.baseAddress else { return nil }
        self.memory = memory
        self.base = base
        self.start = start
        isTaken = Array(repeating: false, count: slots)
    }

    /// The offset of an address in the memory; nil if the address lies elsewhere.
    func offset(of address: UnsafeRawPointer) -> Int? {
        let offset = address - UnsafeRawPointer(base)
        return offset >= 0 && offset < memory.bytes.count ? offset : nil
    }

    /// Takes as many slots in a row as `bytes` need; nil if no row of that length is free.
    func take(_ bytes: Int) -> UnsafeMutableRawBufferPointer? {
        let count = (bytes - 1) / OutboxLayout.slotBytes + 1
        // The lowest slots that fit are taken, so that the memory beyond them stays unwritten.
        var found = 0
        for slot in isTaken.indices {
            found = isTaken[slot] ? 0 : found + 1
            guard found == count else { continue }
            let first = slot + 1 - count
            for taken in first...slot { isTaken[taken] = true }
            return UnsafeMutableRawBufferPointer(
                start: base + start + first * OutboxLayout.slotBytes,
                count: count * OutboxLayout.slotBytes
            )
        }
        return nil
    }

    /// Takes back slots that hold nothing any more.
    func giveBack(_ slots: UnsafeMutableRawBufferPointer) {
        guard let address = slots.baseAddress, let offset = offset(of: address) else { return }
        let first = (offset - start) / OutboxLayout.slotBytes
        for slot in first..<(first + slots.count / OutboxLayout.slotBytes) { isTaken[slot] = false }
        memory.giveBack(offset..<(offset + slots.count))
    }
}

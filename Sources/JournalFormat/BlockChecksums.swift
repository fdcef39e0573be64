/// Checksums of many parts of the same bytes: a part of any length costs a few blocks, and each block is read once.
///
/// A search for the next record needs them. Bytes that are no record may, at every place, resemble the head of a record
/// of many MiB, and a worker chooses the bytes of its payloads. If the search read each such part from end to end, its
/// time would grow with the square of the number of bytes.
struct BlockChecksums {
    /// What is known after the first n blocks, where n is this mark's index.
    private struct Mark {
        /// The checksum of the blocks.
        let sum: UInt32
        /// The factor by which n further blocks multiply a checksum.
        let power: UInt32
    }

    /// Where the first block begins.
    private var begin: Int
    /// An element for the beginning and one for the end of each block.
    private var marks = [Mark(sum: 0, power: Self.one)]
    /// How many bytes were read for checksums.
    private(set) var bytesRead = 0

    /// The size of a block, in bytes.
    ///
    /// A mark takes 8 bytes of memory. A part costs the reading of less than two blocks, and a multiplication that
    /// takes about as long as two blocks.
    static let blockBytes = 128

    /// - Parameter offset: where the first part begins, or a place before it.
    init(at offset: Int) { begin = offset }

    /// The checksum of earlier bytes (`before`), continued over a part.
    ///
    /// - Parameters:
    ///   - offset: where the part begins. A part that begins neither within the known blocks nor at their end discards
    ///     them. So the caller goes from lower to higher offsets.
    mutating func checksum(_ bytes: UnsafeRawBufferPointer, at offset: Int, after before: UInt32) -> UInt32 {
        guard bytes.count >= 2 * Self.blockBytes else { return read(bytes[...], after: before) }
        if !(begin...end).contains(offset) { self = BlockChecksums(at: offset, bytesRead) }
        while end + Self.blockBytes <= offset + bytes.count { addBlock(bytes[(end - offset)...]) }
        let first = (offset - begin + Self.blockBytes - 1) / Self.blockBytes
        let last = (offset + bytes.count - begin) / Self.blockBytes
        let head = read(bytes[..<(begin + first * Self.blockBytes - offset)], after: before)
        // The checksum of bytes A and B is that of A, multiplied by the power for the length of B, plus that of B. In
        // this arithmetic plus and minus are both XOR, so the blocks from `first` to `last` follow from the marks.
        let blocks = Self.product(head ^ marks[first].sum, marks[last - first].power) ^ marks[last].sum
        return read(bytes[(begin + last * Self.blockBytes - offset)...], after: blocks)
    }

    private init(at offset: Int, _ bytesRead: Int) {
        begin = offset
        self.bytesRead = bytesRead
    }

    /// Where the last block ends.
    private var end: Int { begin + (marks.count - 1) * Self.blockBytes }

    private mutating func addBlock(_ bytes: Slice<UnsafeRawBufferPointer>) {
        let last = marks[marks.count - 1]
        let sum = read(bytes.prefix(Self.blockBytes), after: last.sum)
        marks.append(Mark(sum: sum, power: Self.product(last.power, Self.blockPower)))
    }

    private mutating func read(_ bytes: Slice<UnsafeRawBufferPointer>, after before: UInt32) -> UInt32 {
        bytesRead += bytes.count
        return Checksum.crc32c(UnsafeRawBufferPointer(rebasing: bytes), after: before)
    }

    // MARK: - Arithmetic

    // A checksum is a polynomial over the field of two elements, modulo the polynomial of CRC-32C. The highest bit of a
    // number is the coefficient of x to the power of 0. A byte that follows multiplies the checksum by x to the power
    // of 8.

    private static let polynomial: UInt32 = 0x82F6_3B78
    private static let one: UInt32 = 1 << 31
    /// The power for the length of one block: x, squared as often as 1 is doubled to get the number of a block's bits.
    private static let blockPower = (0..<(8 * blockBytes).trailingZeroBitCount).reduce(one >> 1) { power, _ in
        product(power, power)
    }

    private static func product(_ a: UInt32, _ b: UInt32) -> UInt32 {
        var (product, multiple, coefficients) = (UInt32(0), b, a)
        while coefficients != 0 {
            // The steps have no branches, because the processor could not predict the bits.
            product ^= multiple & (0 &- coefficients >> 31)
            multiple = multiple >> 1 ^ polynomial & (0 &- multiple & 1)
            coefficients <<= 1
        }
        return product
    }
}

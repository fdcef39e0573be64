/// Passing over the most frequent form of an event: a small map of short keys and plain values.
extension CBORReader {
    /// Passes over the next map if `skipFlatPairs` accepts it; else returns false, and may have moved the position.
    @inline(__always)
    mutating func skipFlatMap() -> Bool {
        guard position < bytes.count else { return false }
        let count = Int(bytes[position]) &- 0xA0
        guard count >= 0, count <= CBORReader.flatPairs else { return false }
        position &+= 1
        var itemsLeft = limits.maximumItems &- 1
        return skipFlatPairs(count, itemsLeft: &itemsLeft)
    }

    /// The most pairs of such a map: with more, a new key's bits would too often be set in both filters already.
    static let flatPairs = 16

    /// Passes over the pairs of a map if they are well-formed and of the most frequent forms; returns whether it did.
    ///
    /// The keys have to be short ASCII texts, the filters have to show that all of them differ, and `endOfPlainItem`
    /// has to know the values. Otherwise the position does not move, and the caller checks the map item by item.
    mutating func skipFlatPairs(_ count: Int, itemsLeft: inout Int) -> Bool {
        guard let base = bytes.baseAddress, count &* 2 <= itemsLeft else { return false }
        let end = base + bytes.count
        var place = base + position
        // If a key finds its bits set in both filters, the map may already have it.
        var filter: UInt64 = 0
        var otherFilter: UInt64 = 0
        for _ in 0..<count {
            guard place < end else { return false }
            let size = Int(place.load(as: UInt8.self)) &- 0x60
            guard size >= 0, size < 24, size < end - place else { return false }
            let text = ShortText(at: place + 1, size: size)
            guard text.isASCII else { return false }
            let fingerprint = text.fingerprint
            let bit = UInt64(1) << (fingerprint >> 58)
            let otherBit = UInt64(1) << (fingerprint >> 52 & 63)
            guard filter & bit == 0 || otherFilter & otherBit == 0 else { return false }
            filter |= bit
            otherFilter |= otherBit
            guard let next = CBORReader.endOfPlainItem(at: place + (size &+ 1), before: end) else { return false }
            place = next
        }
        position = place - base
        itemsLeft &-= count &* 2
        return true
    }

    /// Passes over elements of an array while `endOfPlainItem` knows them, and returns how many it passed.
    mutating func skipPlainElements(upTo count: Int, itemsLeft: inout Int) -> Int {
        guard let base = bytes.baseAddress else { return 0 }
        let end = base + bytes.count
        var place = base + position
        var skipped = 0
        while skipped < min(count, itemsLeft), let next = CBORReader.endOfPlainItem(at: place, before: end) {
            place = next
            skipped &+= 1
        }
        position = place - base
        itemsLeft &-= skipped
        return skipped
    }

    /// Where the item at an address ends, if it is a well-formed integer, boolean, null, undefined, float, or text of
    /// up to 65,535 bytes; nil for anything else.
    @inline(__always)
    static func endOfPlainItem(at place: UnsafeRawPointer, before end: UnsafeRawPointer) -> UnsafeRawPointer? {
        let left = end - place
        guard left > 0 else { return nil }
        let initialByte = place.load(as: UInt8.self)
        let additional = initialByte & 0x1F
        var size = 1
        switch initialByte >> 5 {
        case 3:
            if additional < 24, Int(additional) < left, ShortText(at: place + 1, size: Int(additional)).isASCII {
                return place + (Int(additional) &+ 1)
            }
            return endOfText(at: place, before: end)
        case 0, 1:
            guard additional < 28 else { return nil }
            if additional >= 24 { size &+= 1 << Int(additional & 3) }
        case 7:
            switch additional {
            case 20...23: break
            case 25...27: size &+= 1 << Int(additional & 3)
            default: return nil
            }
        default:
            return nil
        }
        return size <= left ? place + size : nil
    }
}

extension CBORReader {
    /// Where a text of at most 65,535 bytes ends; nil if it is longer or not well-formed.
    @inline(never)
    private static func endOfText(at place: UnsafeRawPointer, before end: UnsafeRawPointer) -> UnsafeRawPointer? {
        let left = end - place
        var size = Int(place.load(as: UInt8.self) & 0x1F)
        var start = 1
        switch size {
        case 0..<24:
            break
        case 24:
            guard left > 1 else { return nil }
            size = Int(place.load(fromByteOffset: 1, as: UInt8.self))
            start = 2
        case 25:
            guard left > 2 else { return nil }
            size = Int(UInt16(bigEndian: place.loadUnaligned(fromByteOffset: 1, as: UInt16.self)))
            start = 3
        default:
            return nil
        }
        guard size <= left &- start else { return nil }
        let text = UnsafeRawBufferPointer(start: place + start, count: size)
        return firstInvalidUTF8(in: text) == nil ? place + (start &+ size) : nil
    }
}

/// Up to 23 bytes of text, as machine words.
struct ShortText {
    private let size: Int
    private let first: UInt64
    private let last: UInt64
    private let middle: UInt64

    /// Reads `size` bytes; the words cover each byte, some bytes twice.
    @inline(__always)
    init(at place: UnsafeRawPointer, size: Int) {
        self.size = size
        if size >= 8 {
            first = place.loadUnaligned(as: UInt64.self)
            last = place.loadUnaligned(fromByteOffset: size &- 8, as: UInt64.self)
            middle = size > 16 ? place.loadUnaligned(fromByteOffset: 8, as: UInt64.self) : 0
        } else {
            middle = 0
            if size >= 4 {
                first = UInt64(place.loadUnaligned(as: UInt32.self))
                last = UInt64(place.loadUnaligned(fromByteOffset: size &- 4, as: UInt32.self))
            } else if size > 0 {
                first = UInt64(place.load(as: UInt8.self))
                last =
                    UInt64(place.load(fromByteOffset: size >> 1, as: UInt8.self)) << 8
                    | UInt64(place.load(fromByteOffset: size &- 1, as: UInt8.self))
            } else {
                first = 0
                last = 0
            }
        }
    }

    @inline(__always)
    var isASCII: Bool { (first | last | middle) & 0x8080_8080_8080_8080 == 0 }

    /// A number that is equal for equal texts, and seldom equal for different texts.
    @inline(__always)
    var fingerprint: UInt64 {
        // Odd multipliers whose set bits are spread out: the golden ratio and primes from xxHash.
        let words = first &* 0x9E37_79B9_7F4A_7C15 &+ last &* 0xC2B2_AE3D_27D4_EB4F
        return words &+ middle &* 0x1656_67B1_9E37_79F9 &+ UInt64(truncatingIfNeeded: size) << 52
    }
}

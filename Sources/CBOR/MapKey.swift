/// A map key, read in place from the bytes; its spelling makes no difference to comparisons and hashes.
///
/// Integers and simple values compare by value; strings by content, chunked or not; floats by the bits of their double.
/// Arrays, maps and tagged items compare by the bytes of their shortest spelling, and so by what they hold.
struct MapKey: Equatable {
    private enum Content {
        /// An integer, or the number of a simple value, such as a boolean or null.
        case integer(UInt64)
        case double(UInt64)
        /// The content of a string.
        case string(UnsafeRawBufferPointer)
        /// The joined chunks of a string; or an array, a map or a tagged item in its shortest spelling.
        case collected([UInt8])
    }

    private let majorType: CBORMajorType
    private let content: Content

    init?(at offset: Int, in bytes: UnsafeRawBufferPointer) {
        var reader = CBORReader(bytes, position: offset, limits: .standard)
        guard let head = try? reader.readHead() else { return nil }
        majorType = head.majorType
        switch head.majorType {
        case .unsigned, .negative:
            content = .integer(head.argument)
        case .bytes, .text:
            if head.isIndefinite {
                reader.position = offset
                guard let collected = try? reader.collectChunks(of: head.majorType) else { return nil }
                content = .collected(collected)
            } else {
                guard let string = try? reader.takeContent(head, from: offset) else { return nil }
                content = .string(string)
            }
        case .simpleOrFloat:
            content = head.floatingPoint.map { .double($0.bitPattern) } ?? .integer(head.argument)
        case .array, .map, .tag:
            reader.position = offset
            let buffer = CBORBuffer(minimumCapacity: 16)
            let isCopied = (try? reader.copyShortest(to: buffer, levelsLeft: CBORLimits.greatestDepth)) != nil
            guard isCopied else { return nil }
            content = .collected(buffer.copied())
        }
    }

    /// Calls `body` with the key's own UTF-8; returns nil for keys that are not text.
    func withText<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        majorType == .text ? withBytes(body) : nil
    }

    static func == (left: MapKey, right: MapKey) -> Bool {
        guard left.majorType == right.majorType else { return false }
        switch (left.content, right.content) {
        case (.integer(let one), .integer(let other)), (.double(let one), .double(let other)): return one == other
        default: break
        }
        return left.withBytes { one in right.withBytes { other in one.elementsEqual(other) } ?? false } ?? false
    }

    /// A cheap number, equal for equal keys; a peer can choose keys whose numbers collide.
    var fingerprint: UInt64 {
        switch content {
        case .integer(let value): value &+ UInt64(majorType.rawValue) << 62
        case .double(let bits): bits &* 0x9E37_79B9_7F4A_7C15
        case .string(let string): MapKey.fingerprint(of: string)
        case .collected(let collected): collected.withUnsafeBytes { MapKey.fingerprint(of: $0) }
        }
    }

    /// A hash that is seeded in each process, so that a peer cannot choose keys that collide.
    var hash: UInt32 {
        var hasher = Hasher()
        hasher.combine(majorType.rawValue)
        switch content {
        case .integer(let value), .double(let value): hasher.combine(value)
        case .string, .collected: _ = withBytes { hasher.combine(bytes: $0) }
        }
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }

    static func hash(ofText text: UnsafeRawBufferPointer) -> UInt32 {
        var hasher = Hasher()
        hasher.combine(CBORMajorType.text.rawValue)
        hasher.combine(bytes: text)
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }

    private func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        switch content {
        case .integer, .double: nil
        case .string(let string): body(string)
        case .collected(let collected): collected.withUnsafeBytes { body($0) }
        }
    }

    @inline(__always)
    static func fingerprint(of string: UnsafeRawBufferPointer) -> UInt64 {
        let count = string.count
        let first: UInt64
        let last: UInt64
        if count >= 8 {
            first = string.loadUnaligned(as: UInt64.self)
            last = string.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
        } else if count >= 4 {
            first = UInt64(string.loadUnaligned(as: UInt32.self))
            last = UInt64(string.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self))
        } else if count >= 1 {
            first = UInt64(string[0]) | UInt64(string[count / 2]) << 8
            last = UInt64(string[count &- 1])
        } else {
            first = 0
            last = 0
        }
        // Odd multipliers whose set bits are spread out: the golden ratio and a prime from xxHash.
        return first &* 0x9E37_79B9_7F4A_7C15 &+ last &* 0xC2B2_AE3D_27D4_EB4F &+ UInt64(count)
    }
}

extension MapKey: CustomStringConvertible {
    var description: String {
        switch (majorType, content) {
        case (.unsigned, .integer(let value)): "\(value)"
        case (.simpleOrFloat, .integer(let value)): CBORHead.simpleDescription(value)
        case (_, .double(let bits)): "\(Double(bitPattern: bits))"
        case (_, .integer(let value)): CBORHead.negativeDescription(value)
        case (.text, _): "\"\(withBytes { String(decoding: $0, as: UTF8.self) } ?? "")\""
        default: withBytes { MapKey.hexadecimal($0) } ?? ""
        }
    }

    private static func hexadecimal(_ bytes: UnsafeRawBufferPointer) -> String {
        let digits = bytes.prefix(32).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return "h'\(digits.joined())\(bytes.count > 32 ? "..." : "")'"
    }
}

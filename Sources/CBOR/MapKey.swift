/// A map key in place: what it is compared and hashed by, which does not depend on how it was spelt.
///
/// Integers compare by value, strings by content, chunked or not. Keys of other kinds have no identity here and are
/// not checked for coming twice.
struct MapKey: Equatable {
    private enum Content {
        case integer(UInt64)
        case string(UnsafeRawBufferPointer)
        case chunked([UInt8])
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
                let collected =
                    head.majorType == .text
                    ? (try? reader.readText()).map { Array($0.utf8) } : try? reader.readByteArray()
                guard let collected else { return nil }
                content = .chunked(collected)
            } else {
                guard let string = try? reader.takeContent(head, from: offset) else { return nil }
                content = .string(string)
            }
        default:
            return nil
        }
    }

    /// The key's own UTF-8, nil for keys that are not text.
    func withText<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        majorType == .text ? withBytes(body) : nil
    }

    static func == (left: MapKey, right: MapKey) -> Bool {
        guard left.majorType == right.majorType else { return false }
        if case .integer(let one) = left.content, case .integer(let other) = right.content { return one == other }
        return left.withBytes { one in right.withBytes { other in one.elementsEqual(other) } ?? false } ?? false
    }

    /// Equal for equal keys and cheap; not proof against collisions made on purpose.
    var fingerprint: UInt64 {
        switch content {
        case .integer(let value): value &+ UInt64(majorType.rawValue) << 62
        case .string(let string): MapKey.fingerprint(of: string)
        case .chunked(let collected): collected.withUnsafeBytes { MapKey.fingerprint(of: $0) }
        }
    }

    /// Seeded per process, so that a peer cannot choose keys that collide.
    var hash: UInt32 {
        var hasher = Hasher()
        hasher.combine(majorType.rawValue)
        if case .integer(let value) = content {
            hasher.combine(value)
        } else {
            _ = withBytes { hasher.combine(bytes: $0) }
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
        case .integer: nil
        case .string(let string): body(string)
        case .chunked(let collected): collected.withUnsafeBytes { body($0) }
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
        // Odd multipliers with bits all over: the golden ratio and a prime from xxHash.
        return first &* 0x9E37_79B9_7F4A_7C15 &+ last &* 0xC2B2_AE3D_27D4_EB4F &+ UInt64(count)
    }
}

extension MapKey: CustomStringConvertible {
    var description: String {
        switch (majorType, content) {
        case (.unsigned, .integer(let value)): "\(value)"
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

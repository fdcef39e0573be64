/// A string of bytes as a sequence of choices and numbers; behind its end, every choice is 0.
struct Script {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { position >= bytes.count }

    var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[min(position, bytes.count)...]) }

    mutating func byte() -> UInt8 {
        guard !isAtEnd else { return 0 }
        defer { position += 1 }
        return bytes[position]
    }

    /// A number from 0 to below `bound`.
    mutating func choice(_ bound: Int) -> Int { Int(byte()) % bound }

    /// A number near `other`, or any number, like those of a peer that errs or lies; behind the end, `other` itself.
    mutating func number(near other: UInt64) -> UInt64 {
        let kind = byte()
        guard kind != .max else { return (0..<8).reduce(0) { sum, _ in sum << 8 | UInt64(byte()) } }
        return other &+ UInt64(bitPattern: Int64(Int8(bitPattern: kind)))
    }

    /// The next bytes, at most `count`, as a script of their own.
    mutating func part(_ count: Int) -> Script {
        let part = UnsafeRawBufferPointer(rebasing: rest.prefix(count))
        position += part.count
        return Script(part)
    }
}

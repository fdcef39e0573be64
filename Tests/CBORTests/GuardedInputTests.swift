import CBOR
import FuzzTargets
import Testing

/// Input behind which nothing may be read.
@Suite("Nothing is read behind the input")
struct GuardedInputTests {
    /// Skips, reads, and decodes to types, in memory that ends with the input.
    private func read(_ input: [UInt8]) throws {
        let memory = try GuardedBytes(input)
        let bytes = UnsafeRawBufferPointer(memory.bytes)
        var reader = CBORReader(bytes)
        _ = try? reader.skipItem()
        _ = try? CBORValue(decoding: bytes)
        _ = try? CBORDecoder().decode([String: String].self, from: bytes)
        _ = try? CBORDecoder().decode([String: Int64].self, from: bytes)
        try CBORTarget().run(bytes)
    }

    @Test("whatever the input is cut to, and whatever its last bytes are", .timeLimit(.minutes(5)))
    func endings() throws {
        let item = CBORValue.map([
            .init(key: .text("id"), value: .unsigned(70_000)),
            .init(key: .text("t"), value: .text(String(repeating: "x", count: 30))),
            .init(key: .text("n"), value: .double(1.5)),
            .init(
                key: .text("l"),
                value: .array([.text("short"), .text("medium text"), .unsigned(1 << 40), .bool(true)])
            ),
        ])
        let whole = try item.encoded()
        for end in whole.indices {
            try read(Array(whole[...end]))
            for last in [
                0x17, 0x18, 0x19, 0x1A, 0x1B, 0x37, 0x58, 0x62, 0x77, 0x78, 0x79, 0x9B, 0xB7, 0xBF, 0xF8, 0xFB,
            ] {
                try read(whole[..<end] + [UInt8(last)])
            }
        }
    }

    @Test("the examples, and each beginning of them")
    func examples() throws {
        for vector in try AppendixVector.load() {
            for end in 0...vector.bytes.count { try read(Array(vector.bytes[..<end])) }
        }
    }
}

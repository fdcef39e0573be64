import Testing

@testable import JournalFormat

@Suite("Checksums")
struct ChecksumTests {
    @Test("The checksum is CRC-32C, as RFC 3720 has it")
    func knownValues() {
        func checksum(_ bytes: [UInt8]) -> UInt32 { bytes.withUnsafeBytes { Checksum.crc32c($0) } }
        #expect(checksum(Array("123456789".utf8)) == 0xE306_9283)
        #expect(checksum([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
        #expect(checksum([UInt8](repeating: 0xFF, count: 32)) == 0x62A8_AB43)
        #expect(checksum((0..<32).map { UInt8($0) }) == 0x46DD_794E)
        #expect(checksum([]) == 0)
    }

    @Test("The processor's instruction and the table agree, at every length and place, in one piece and in two")
    func tableAndInstruction() {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<600).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        bytes.withUnsafeBytes { bytes in
            for length in 0..<300 {
                let part = UnsafeRawBufferPointer(rebasing: bytes[(length % 13)..<(length % 13 + length)])
                let before = UInt32(truncatingIfNeeded: length &* 0x9E37_79B9)
                let whole = Checksum.crc32c(part, after: before)
                #expect(whole == Checksum.crc32cByTable(part, after: before), "\(length) bytes")
                let first = Checksum.crc32c(UnsafeRawBufferPointer(rebasing: part[..<(length / 3)]), after: before)
                #expect(whole == Checksum.crc32c(UnsafeRawBufferPointer(rebasing: part[(length / 3)...]), after: first))
            }
        }
    }
}

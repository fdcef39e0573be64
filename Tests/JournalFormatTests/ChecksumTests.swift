import CBridgePlatform
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

    @Test("Two numbers before the bytes count as their bytes do, lowest first, with the instruction and without it")
    func numbersBefore() {
        let (first, second): (UInt64, UInt64) = (0x0102_0304_0506_0708, 0xF1F2_F3F4_F5F6_F7F8)
        let spelled: [UInt8] = [8, 7, 6, 5, 4, 3, 2, 1, 0xF8, 0xF7, 0xF6, 0xF5, 0xF4, 0xF3, 0xF2, 0xF1]
        for length in 0..<100 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            let whole = (spelled + bytes).withUnsafeBytes { Checksum.crc32c($0, after: 77) }
            bytes.withUnsafeBytes { bytes in
                #expect(Checksum.crc32c(of: first, second, bytes, after: 77) == whole, "\(length) bytes")
                let byTable = cbp_crc32c_numbered_by_table(77, first, second, bytes.baseAddress, bytes.count)
                #expect(byTable == whole, "\(length) bytes")
            }
        }
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

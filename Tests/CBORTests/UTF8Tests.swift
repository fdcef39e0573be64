import CBOR
import Testing

/// Text that is wrong in every possible way: only what Unicode calls UTF-8 (table 3-7) is taken for UTF-8.
@Suite("UTF-8")
struct UTF8Tests {
    /// The verdict of the standard library, which repairs wrong text.
    private func isValid(_ bytes: [UInt8]) -> Bool {
        Array(String(decoding: bytes, as: UTF8.self).utf8) == bytes
    }

    private func check(_ text: [UInt8], _ before: Int) {
        // After as much ASCII as puts the text into a word, at the end of a word, or across two words.
        let content = [UInt8](repeating: 0x61, count: before) + text
        let head: [UInt8] = content.count < 24 ? [0x60 | UInt8(content.count)] : [0x78, UInt8(content.count)]
        let error = refusal(of: head + content)
        let flat = refusal(of: [0xA1, 0x61, 0x61] + head + content)
        if isValid(content) {
            if error != nil || flat != nil { Issue.record("refused \(content.hexadecimal)") }
        } else {
            let wrong = head.count + firstWrong(content, from: before)
            let isRight =
                error?.code == .invalidUTF8 && error?.offset == wrong && flat?.code == .invalidUTF8
                && flat?.offset == wrong + 3
            #expect(isRight, "\(content.hexadecimal)")
        }
    }

    /// The end of the longest beginning that is whole characters.
    private func firstWrong(_ content: [UInt8], from start: Int) -> Int {
        (start...content.count).last { isValid(Array(content[..<$0])) } ?? start
    }

    @Test("D13: all one and two bytes, and the borders of three and four, are taken or refused as Unicode has it")
    func borders() {
        let borders: [UInt8] = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
        for lead in UInt8(0x7E)...0xFF {
            check([lead], 0)
            check([lead], 7)
            for second in borders {
                check([lead, second], 0)
                for third in borders where lead >= 0xE0 {
                    check([lead, second, third], 6)
                    for fourth in [0x7F, 0x80] as [UInt8] where lead >= 0xF0 && lead <= 0xF5 {
                        check([lead, second, third, fourth], 21)
                    }
                }
            }
        }
    }

    @Test("D13: a character that is cut, by the end of its text or between two chunks, is refused")
    func cut() {
        for character in ["\u{E9}", "\u{20AC}", "\u{1F600}"] {
            let bytes = Array(character.utf8)
            for count in 1..<bytes.count {
                check(Array(bytes[..<count]), 0)
                let chunks =
                    [0x7F, 0x60 | UInt8(count)] + bytes[..<count] + [0x60 | UInt8(bytes.count - count)]
                    + bytes[count...] + [0xFF]
                #expect(refusal(of: chunks)?.code == .invalidUTF8)
                #expect(refusal(of: chunks)?.offset == 2)
            }
        }
    }
}

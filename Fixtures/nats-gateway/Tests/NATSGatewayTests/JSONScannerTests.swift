import Foundation
import Testing

@testable import NATSGateway

@Suite struct JSONScannerTests {
    private func scanner(_ text: String) -> JSONScanner { JSONScanner(Array(text.utf8)) }

    @Test(
        arguments: [
            (#""""#, ""), (#""a\"b\\c\/""#, "a\"b\\c/"), (#" "\b\f\n\r\t""#, "\u{8}\u{C}\n\r\t"),
            (#""\u00e9\uD83D\uDCE6""#, "é\u{1F4E6}"), ("\"é\"", "é"),
        ]
    )
    func stringIsRead(_ text: String, _ value: String) {
        var scanner = scanner(text)
        let found = scanner.string()
        let isAtEnd = scanner.isAtEnd()
        #expect(found == value && isAtEnd)
    }

    @Test(arguments: [
        "", "a", "\"", #""\"#, #""\x""#, #""\u12""#, #""\u+123""#, #""\uD83D""#, #""\uD83Da""#, #""\uDCE6""#, "\"\n\"",
    ])
    func anythingElseIsNoString(_ text: String) {
        var scanner = scanner(text)
        let found = scanner.string()
        #expect(found == nil)
    }

    @Test(arguments: [("0", 0), ("7 ", 7), ("18446744073709551615", .max)] as [(String, UInt64)])
    func countIsRead(_ text: String, _ value: UInt64) {
        var scanner = scanner(text)
        let found = scanner.count()
        #expect(found == value)
    }

    @Test(arguments: ["", "-1", "1.0", "1e9", "007", "18446744073709551616", "x"])
    func anythingElseIsNoCount(_ text: String) {
        var scanner = scanner(text)
        let found = scanner.count()
        #expect(found == nil)
    }

    @Test(arguments: ["{}", "[]", "null", "true", "false", "-1.5e3", #"{"a": [1, {"b": "]"}], "c":null}"#, "[[], {}]"])
    func anyValueIsPassedOver(_ text: String) {
        var scanner = scanner(text + " ")
        let skipped: Void? = scanner.skip()
        let isAtEnd = scanner.isAtEnd()
        #expect(skipped != nil && isAtEnd)
    }

    @Test(arguments: [
        "{", "[1", #"{"a"}"#, #"{"a":}"#, "nul", "-", "]", "[1 2]", "1.", "01", "-01", ".5", "1e",
        "1e+", "+1", "--1", String(repeating: "[", count: 100_000),
    ])
    func whatIsNoValueIsNotPassedOver(_ text: String) {
        var scanner = scanner(text)
        let skipped: Void? = scanner.skip()
        #expect(skipped == nil)
    }

    @Test(arguments: 0..<300) func randomBytesAreReadOrRefused(_ seed: UInt64) {
        var random = SeededGenerator(seed)
        let signs = Array(#"{}[]",:\u0d8DE-.e7 truefalsnbé"#.utf8)
        let good = Array(#"{"error":{"code":503,"err_code":10077,"description":"m\u00e9 \uD83D\uDCE6"},"seq":0}"#.utf8)
        var bytes = random.next(below: 2) == 0 ? good : []
        for _ in 0..<random.next(below: 30) {
            let byte = signs[random.next(below: signs.count)]
            if bytes.isEmpty || random.next(below: 2) == 0 {
                bytes.append(byte)
            } else {
                bytes[random.next(below: bytes.count)] = byte
            }
        }
        // The scanner passes over the bytes exactly when they are JSON.
        var scanner = JSONScanner(bytes)
        let skipped: Void? = scanner.skip()
        let isRead = skipped != nil && scanner.isAtEnd()
        let found = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
        #expect(isRead == (found != nil), "\(String(decoding: bytes, as: UTF8.self))")
        guard PublishAnswer(json: bytes) == .stored else { return }
        // An answer says `stored` only if it is a whole object with a place.
        #expect((found as? [String: Any])?["seq"] is NSNumber)
    }
}

import Testing

@testable import NATSGateway

@Suite struct EscapedNameTests {
    private static let names = [
        "BoxOrdered", "a.b", "*", ">", "a b", "", "%", "%2E", "é", "e\u{301}", "箱", "a\r\nb", "-_", "\u{0}",
        "\u{1F4E6}",
        String(repeating: ".", count: 256),
    ]

    @Test(arguments: names) func roundTripGivesTheName(_ name: String) throws {
        let escaped = EscapedName.text(of: name)
        let allowed = escaped.utf8.allSatisfy { EscapedName.isPlain($0) || $0 == UInt8(ascii: "%") }
        #expect(allowed)
        let found = try #require(EscapedName.name(in: escaped))
        #expect(Array(found.utf8) == Array(name.utf8))
    }

    @Test func noTwoNamesAreOneText() {
        #expect(Set(Self.names.map(EscapedName.text)).count == Set(Self.names.map { Array($0.utf8) }).count)
    }

    @Test(arguments: ["a.b", "%2e", "%", "%2", "%41", "%ZZ", "%FF", "a b", "%C3"])
    func whatWasNeverEscapedIsNoName(_ text: String) {
        #expect(EscapedName.name(in: text) == nil)
    }

    @Test(arguments: 0..<200) func randomBytesAreRefusedOrRoundTrip(_ seed: UInt64) {
        var random = SeededGenerator(seed)
        let bytes = (0..<random.next(below: 12)).map { _ in UInt8(random.next(below: 256)) }
        let text = String(decoding: bytes, as: UTF8.self)
        if let name = EscapedName.name(in: text) { #expect(EscapedName.text(of: name) == text) }
        #expect(EscapedName.name(in: EscapedName.text(of: text)) == text)
    }
}

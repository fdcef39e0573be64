import JSONText
import Testing

@Suite("Configuration values")
struct ConfigurationValueTests {
    private enum Colour: String, CaseIterable {
        case red
        case green
        case darkGreen = "dark-green"
    }

    /// Reads one value, and returns the messages of the mistakes.
    private func read<Result>(
        _ text: String,
        _ body: (ConfigurationValue) -> Result
    ) throws -> (result: Result, messages: [String]) {
        let mistakes = ConfigurationMistakes()
        let node = try JSONReader(dialect: .json5).read(text)
        let result = body(ConfigurationValue(node, path: "a", mistakes: mistakes))
        return (result, mistakes.all.map(\.message))
    }

    @Test(
        "durations are exact in every unit",
        arguments: [
            ("100ms", Duration.milliseconds(100)), ("5s", .seconds(5)), ("1m", .seconds(60)),
            ("1.5s", .milliseconds(1500)),
            ("2h", .seconds(7200)), ("0s", .zero), ("250us", .microseconds(250)), ("7ns", .nanoseconds(7)),
            ("0.1s", .milliseconds(100)), ("1.000000001s", .nanoseconds(1_000_000_001)), ("5 s", .seconds(5)),
            ("2562047h", .seconds(2_562_047 * 3600)), ("007s", .seconds(7)),
        ]
    )
    func readsDurations(text: String, duration: Duration) throws {
        #expect(DurationText.duration(text) == duration)
        #expect(DurationText.duration(DurationText.text(duration)) == duration)
    }

    @Test(
        "what is no duration is refused",
        arguments: [
            "", "5", "s", "-5s", "+5s", ".5s", "5.s", "1.s", "5S", "5sec", "5  s", "5s ", " 5s", "1e3s",
            "1.0000000001s", "0.5ns",
            "99999999999999999999s", "9223372036854775807s", "2562048h", "1m30s", "0x5s", "５s", "NaNs",
            "0.00000000000000000000000000000000000000000000001s",
        ]
    )
    func refusesDurations(text: String) throws {
        #expect(DurationText.duration(text) == nil)
        let (duration, messages) = try read(JSONEscaping.quoted(text)) {
            $0.duration(in: .zero...(.seconds(1_000_000_000)))
        }
        #expect(duration == nil)
        #expect(messages.count == 1)
    }

    private static let sizes: [(String, Int)] = [
        ("4MiB", 4_194_304), ("512KiB", 524_288), ("16MB", 16_000_000), ("1GiB", 1_073_741_824), ("1.5KiB", 1536),
        ("0B", 0), ("7B", 7), ("1kB", 1000), ("1KB", 1000), ("2TB", 2_000_000_000_000), ("4 MiB", 4_194_304),
        ("9223372036854775807B", Int.max), ("8388607TiB", 9_223_370_937_343_148_032),
    ]

    @Test("sizes are exact in every unit", arguments: sizes)
    func readsSizes(text: String, bytes: Int) throws {
        #expect(ByteCountText.parse(text) == .bytes(bytes))
        #expect(ByteCountText.parse(ByteCountText.text(bytes)) == .bytes(bytes))
    }

    @Test(
        "what is no size is refused",
        arguments: [
            "", "4", "MiB", "-4MiB", "4mib", "4M", "4Mib", "0.3B", "9223372036854775808B", "8388608TiB",
            "99999999999999999999999TiB", "4MiB ",
        ]
    )
    func refusesSizes(text: String) {
        if case .bytes(let bytes) = ByteCountText.parse(text) { Issue.record("read as \(bytes) bytes") }
    }

    @Test("a size is also a plain number of bytes, and must lie in its range")
    func readsPlainSizes() throws {
        let range = 1024...(1 << 20)
        #expect(try read("4096") { $0.byteCount(in: range) }.result == 4096)
        for text in ["1023", "1048577", "-1", "18446744073709551615"] {
            let (bytes, messages) = try read(text) { $0.byteCount(in: range) }
            #expect(bytes == nil)
            #expect(messages == ["found the number \(text), expected from 1KiB to 1MiB"])
        }
        #expect(
            try read("\"4mib\"") { $0.byteCount(in: range) }.messages == [
                "found the string \"4mib\", expected one of the units TiB, GiB, MiB, KiB, TB, GB, MB, kB, B; did you mean \"MiB\"?"
            ]
        )
        #expect(
            try read("1.5") { $0.byteCount(in: range) }.messages == [
                "found the number 1.5, expected a size such as \"4MiB\" or a number of bytes"
            ]
        )
    }

    @Test("integers are read exactly up to the ends of their range")
    func readsIntegers() throws {
        #expect(try read("-9223372036854775808") { $0.integer(in: .min ... .max) }.result == .min)
        #expect(try read("9223372036854775807") { $0.integer(in: .min ... .max) }.result == .max)
        for text in ["9223372036854775808", "-9223372036854775809", "-18446744073709551616"] {
            #expect(try read(text) { $0.integer(in: .min ... .max) }.result == nil)
        }
        #expect(
            try read("1.0") { $0.integer(in: 0...5) }.messages == [
                "found the number 1.0, expected an integer from 0 to 5"
            ]
        )
        #expect(
            try read("6") { $0.integer(in: 0...5) }.messages == ["found the number 6, expected an integer from 0 to 5"]
        )
    }

    @Test("a wrong type is named with what stands there and what should")
    func namesWrongTypes() throws {
        #expect(
            try read("5") { $0.duration(in: .zero...(.seconds(60))) }.messages == [
                "found the number 5, expected a string such as \"5s\""
            ]
        )
        #expect(
            try read("\"90s\"") { $0.duration(in: .zero...(.seconds(60))) }.messages == [
                "found the string \"90s\", expected from 0s to 1m"
            ]
        )
        #expect(try read("null") { $0.bool() }.messages == ["found null, expected true or false"])
        #expect(
            try read("[]") { $0.string(example: "x") }.messages == [
                "found an empty array, expected a string such as \"x\""
            ]
        )
        #expect(
            try read("''") { $0.nonEmptyString(example: "x") }.messages == [
                "found an empty string, expected one such as \"x\""
            ]
        )
        #expect(
            try read("{a: 1}") { $0.uniqueNames(example: "x") }.messages == [
                "found an object, expected an array of strings such as [\"x\"]"
            ]
        )
        let long = String(repeating: "e\u{301}", count: 10_000)
        let messages = try read("'\(long)'") { $0.bool() }.messages
        #expect(messages.count == 1 && messages[0].utf8.count < 200)
    }

    @Test("a wrong name is named with the names there are, and the nearest one")
    func suggestsNames() throws {
        #expect(try read("'dark-green'") { $0.choice(Colour.self) }.result == .darkGreen)
        #expect(
            try read("'darkgren'") { $0.choice(Colour.self) }.messages == [
                "\"darkgren\" is none of red, green, dark-green; did you mean \"dark-green\"?"
            ]
        )
        #expect(try read("'xyz'") { $0.choice(Colour.self) }.messages == ["\"xyz\" is none of red, green, dark-green"])
        #expect(NearestName.suggestion(for: "pemranent", among: ["permanent", "transient"]) == "permanent")
        #expect(NearestName.suggestion(for: "Permanent", among: ["permanent", "transient"]) == "permanent")
        #expect(NearestName.suggestion(for: "", among: ["permanent"]) == nil)
        #expect(NearestName.suggestion(for: "x", among: ["a", "b"]) == nil)
        #expect(NearestName.suggestion(for: String(repeating: "p", count: 100_000), among: ["permanent"]) == nil)
    }

    @Test("lists and maps leave out what is wrong, report each, and give the rest")
    func readsCollections() throws {
        let (names, messages) = try read("['a', 5, 'b', '', 'a']") { $0.uniqueNames(example: "x") }
        #expect(names == ["a", "b"])
        #expect(messages.count == 3)
        #expect(messages.contains("duplicate \"a\" (first at line 1)"))
        let (map, mapMessages) = try read("{a: '1', b: 2, 'c d': null}") { $0.stringMap(example: "{}") }
        #expect(map == ["a": "1"])
        #expect(mapMessages.count == 2)
    }

    @Test("names that differ in their bytes are two; a map cannot have both, and says so")
    func readsUnicodeSpellings() throws {
        let (names, messages) = try read(#"["\u00e9", "e\u0301"]"#) { $0.uniqueNames(example: "x") }
        #expect(names?.map { Array($0.utf8).count } == [2, 3])
        #expect(messages == [])
        let (map, mapMessages) = try read(#"{"\u00e9": "1", "e\u0301": "2"}"#) { $0.stringMap(example: "{}") }
        #expect(map == ["\u{e9}": "1"])
        #expect(mapMessages == ["found the key \"e\u{301}\", which stands above in another Unicode spelling"])
    }

    @Test("objects report unknown, unsupported and missing keys with their paths")
    func readsObjects() throws {
        let mistakes = ConfigurationMistakes()
        let node = try JSONReader(dialect: .json5).read("{\n colour: 'red',\n colr: 1,\n 'x y': 2,\n later: 3,\n}")
        let object = ConfigurationValue(node, mistakes: mistakes)
            .object(keys: ["colour", "size"], unsupported: ["later": "\"later\" is not supported yet"])
        #expect(object?.optional("colour")?.choice(Colour.self) == .red)
        #expect(object?.optional("size") == nil)
        #expect(object?.required("size", expected: "a number") == nil)
        #expect(
            mistakes.all.map(\.description) == [
                "line 1, column 1: the key \"size\" is missing, expected a number",
                "line 3, column 2: colr: unknown key \"colr\"; did you mean \"colour\"?",
                "line 4, column 2: [\"x y\"]: unknown key \"x y\"; known here are colour, size",
                "line 5, column 2: later: \"later\" is not supported yet",
            ]
        )
    }
}

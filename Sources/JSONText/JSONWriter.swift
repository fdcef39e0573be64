package import CBOR

/// Writes CBOR values as JSON text.
///
/// What JSON can express is written exactly, except for the longest numbers. The rest gets its customary form, if any:
///
/// | CBOR | JSON |
/// | --- | --- |
/// | integers | all 64 bits and the sign |
/// | doubles | the shortest digits that read back as the same double; unlike integers, with a point or an exponent |
/// | NaN and the infinities | the strings `"NaN"`, `"Infinity"`, `"-Infinity"` |
/// | byte strings | base64 text |
/// | tags 1 and 1001, date in the years 0 to 9999 | RFC 3339 text in UTC, with no, three, six or nine decimals |
/// | tags 2 and 3, big integer | decimal digits up to 512 bits, else the base64 text of its bytes |
/// | tag 4, decimal with a mantissa up to 512 bits and a 64-bit exponent | the same number, with all its digits |
/// | tag 37, UUID | its text in upper case, as `Foundation.UUID` writes it |
/// | tag 32, URL, and any tagged value that no row above fits | the content without the tag |
/// | undefined and unassigned simple values | `null` |
/// | keys that are not text | their JSON if it is a string, else a string that contains their JSON |
/// | arrays, maps and tagged values as keys inside such a key | the base64 text of their CBOR |
///
/// Without ``pretty``, the text has no line break. The writer recurses once for each level of nesting. That is safe:
/// a decoder limits the levels of what it reads, and the writer's callers add only a few.
package struct JSONWriter: Sendable {
    package var pretty: Bool

    /// Whether the output becomes a key: arrays, maps and tagged values as keys inside it then become base64.
    ///
    /// Escaping would double such a key in length at each level: 80 bytes of CBOR would take a TiB.
    private var isKey = false

    package init(pretty: Bool = false) {
        self.pretty = pretty
    }

    package func text(_ value: CBORValue) -> String {
        var output: [UInt8] = []
        write(value, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    package func write(_ value: CBORValue, to output: inout [UInt8]) {
        write(value, to: &output, indentation: 0)
    }

    /// About how many bytes of JSON the texts and byte strings of the value take, without what is between them.
    ///
    /// A key that is not text counts twice, and a byte string counts as base64, whatever its tag. A text counts with
    /// its escapes, of up to six bytes each. The number of values bounds the rest.
    package static func bytesOfText(in value: CBORValue) -> Int {
        switch value {
        case .text(let text): JSONEscaping.byteCount(of: text)
        case .bytes(let bytes): Base64Text.byteCount(of: bytes.count) + 2
        case .array(let elements): elements.reduce(0) { $0 + bytesOfText(in: $1) }
        case .map(let entries): entries.reduce(0) { $0 + bytesOfKey($1.key) + bytesOfText(in: $1.value) }
        case .tagged(_, let content): bytesOfText(in: content)
        case .unsigned, .negative, .simple, .bool, .null, .undefined, .double: 0
        }
    }

    /// The JSON of a key that is not text becomes text; escaping makes it at most twice as long.
    private static func bytesOfKey(_ key: CBORValue) -> Int {
        if case .text = key { bytesOfText(in: key) } else { 2 * bytesOfText(in: key) }
    }

    /// Whether two keys of one map become the same text, as 1 and "1" do.
    ///
    /// Readers may take different values from an object with both. A map inside a key becomes text, and is not checked.
    package static func hasTwinKeys(in value: CBORValue) -> Bool {
        switch value {
        case .array(let elements): return elements.contains { hasTwinKeys(in: $0) }
        case .map(let entries):
            // A map with only text keys need not be checked: a decoder has refused equal texts.
            if entries.contains(where: { if case .text = $0.key { false } else { true } }) {
                var texts = Set<[UInt8]>()
                for entry in entries {
                    var text: [UInt8] = []
                    JSONWriter().writeKey(entry.key, to: &text)
                    guard texts.insert(text).inserted else { return true }
                }
            }
            return entries.contains { hasTwinKeys(in: $0.value) }
        case .tagged(_, let content): return hasTwinKeys(in: content)
        default: return false
        }
    }

    func write(_ value: CBORValue, to output: inout [UInt8], indentation: Int) {
        switch value {
        case .unsigned(let number): output += String(number).utf8
        case .negative(let number): output += Self.negativeText(number).utf8
        case .double(let number): output += Self.doubleText(number).utf8
        case .bool(let bool): output += (bool ? "true" : "false").utf8
        case .null, .undefined, .simple: output += "null".utf8
        case .text(let text): JSONEscaping.append(text, to: &output)
        case .bytes(let bytes): Base64Text.append(bytes, to: &output)
        case .array(let elements): writeArray(elements, to: &output, indentation: indentation)
        case .map(let entries): writeMap(entries, to: &output, indentation: indentation)
        case .tagged(let tag, let content): write(content, tag: tag, to: &output, indentation: indentation)
        }
    }

    private func writeArray(_ elements: [CBORValue], to output: inout [UInt8], indentation: Int) {
        output.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 {
                output.append(UInt8(ascii: ","))
            }
            breakLine(indentation + 1, to: &output)
            write(element, to: &output, indentation: indentation + 1)
        }
        if !elements.isEmpty {
            breakLine(indentation, to: &output)
        }
        output.append(UInt8(ascii: "]"))
    }

    private func writeMap(_ entries: [CBORValue.Entry], to output: inout [UInt8], indentation: Int) {
        output.append(UInt8(ascii: "{"))
        for (index, entry) in entries.enumerated() {
            if index > 0 {
                output.append(UInt8(ascii: ","))
            }
            breakLine(indentation + 1, to: &output)
            writeKey(entry.key, to: &output)
            output += (pretty ? ": " : ":").utf8
            write(entry.value, to: &output, indentation: indentation + 1)
        }
        if !entries.isEmpty {
            breakLine(indentation, to: &output)
        }
        output.append(UInt8(ascii: "}"))
    }

    private func writeKey(_ key: CBORValue, to output: inout [UInt8]) {
        switch key {
        case .text(let text):
            JSONEscaping.append(text, to: &output)
            return
        case .array, .map, .tagged:
            if isKey {
                // This does not throw: a decoder has read the key, so the key is not nested too deep to be written.
                Base64Text.append((try? key.encoded()) ?? [], to: &output)
                return
            }
        default: break
        }
        var json: [UInt8] = []
        var writer = JSONWriter()
        writer.isKey = true
        writer.write(key, to: &json)
        if json.first == UInt8(ascii: "\"") {
            output += json
        } else {
            JSONEscaping.append(String(decoding: json, as: UTF8.self), to: &output)
        }
    }

    private func breakLine(_ indentation: Int, to output: inout [UInt8]) {
        guard pretty else { return }
        output.append(UInt8(ascii: "\n"))
        output += repeatElement(UInt8(ascii: " "), count: 2 * indentation)
    }

    static func negativeText(_ number: UInt64) -> String {
        let (magnitude, overflow) = number.addingReportingOverflow(1)
        return overflow ? "-18446744073709551616" : "-\(magnitude)"
    }

    private static func doubleText(_ number: Double) -> String {
        if number.isFinite {
            return number.description
        }
        if number.isNaN {
            return "\"NaN\""
        }
        return number < 0 ? "\"-Infinity\"" : "\"Infinity\""
    }
}

import CBOR
import Foundation
import JSONText

/// Prints how this package reads CBOR or JSON, so that other readers can be compared with it: `reader-probe cbor|json`.
///
/// Standard input holds one document after the other, each after its length in four bytes, most significant first. The
/// program prints a line for each: the value in a notation with one spelling for each value, or `-` and the reason why
/// the document was refused.
@main
enum ReaderProbe {
    private static let usageStatus: Int32 = 64

    static func main() {
        let read: ([UInt8]) throws -> CBORValue
        switch CommandLine.arguments.dropFirst() {
        case ["cbor"]: read = { try CBORValue(decoding: $0) }
        case ["json"]: read = { try JSONReader().read($0).cborValue }
        default:
            FileHandle.standardError.write(Data("usage: reader-probe cbor|json\n".utf8))
            exit(usageStatus)
        }
        var output = Data()
        for document in documents(in: Array(FileHandle.standardInput.readDataToEndOfFile())) {
            do {
                append(try read(document), to: &output)
            } catch {
                output.append(contentsOf: "- \(error)".utf8.map { $0 == UInt8(ascii: "\n") ? UInt8(ascii: " ") : $0 })
            }
            output.append(UInt8(ascii: "\n"))
        }
        FileHandle.standardOutput.write(output)
    }

    private static func documents(in bytes: [UInt8]) -> [[UInt8]] {
        var found: [[UInt8]] = []
        var rest = bytes[...]
        while rest.count >= 4 {
            let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(4)
            found.append(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return found
    }

    /// Writes texts and bytes in hexadecimal, and floats by their bits, so that the line has only one reading.
    private static func append(_ value: CBORValue, to output: inout Data) {
        func add(_ text: String) { output.append(contentsOf: text.utf8) }
        switch value {
        case .unsigned(let number): add("u\(number)")
        case .negative(let number): add("n\(number)")
        case .bytes(let bytes): add("b" + hexadecimal(bytes))
        case .text(let text): add("t" + hexadecimal(text.utf8))
        case .array(let elements):
            add("[")
            for element in elements {
                append(element, to: &output)
                add(",")
            }
            add("]")
        case .map(let entries):
            add("{")
            for entry in entries {
                append(entry.key, to: &output)
                add(":")
                append(entry.value, to: &output)
                add(",")
            }
            add("}")
        case .tagged(let tag, let content):
            add("g\(tag)(")
            append(content, to: &output)
            add(")")
        case .simple(let number): add("s\(number)")
        case .bool(let bool): add(bool ? "true" : "false")
        case .null: add("null")
        case .undefined: add("undefined")
        case .double(let number): add(number.isNaN ? "nan" : "f" + String(number.bitPattern, radix: 16))
        }
    }

    private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

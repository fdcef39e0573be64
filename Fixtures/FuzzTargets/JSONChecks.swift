import CBOR
import JSONText

/// Checks that hold for any JSON text, and for any value that is written as JSON.
enum JSONChecks {
    /// Checks that a value is written as JSON that the readers take, unless two keys become one or a number is beyond
    /// the readers' range.
    static func check(writing value: CBORValue) throws {
        let text = JSONWriter().text(value)
        try require(text.utf8.allSatisfy { $0 >= 0x20 }, "a control character in \(text)")
        let read: CBORValue
        do {
            read = try JSONReader().read(text).cborValue
        } catch {
            try require(
                [.duplicateKey, .numberOutOfRange].contains(error.kind),
                "\(value) was written as \(text): \(error)"
            )
            return
        }
        let again = JSONWriter().text(read)
        try require(try JSONReader().read(again).cborValue == read, "\(text), read and written: \(again)")
    }

    /// Checks a text in both grammars, JSON and JSON5: what was read can be written, as JSON and CBOR, and read again.
    static func check(reading bytes: [UInt8]) throws {
        let strict = Result { () throws(JSONError) in try JSONReader().read(bytes) }
        let loose = Result { () throws(JSONError) in try JSONReader(dialect: .json5).read(bytes) }
        if case .success(let node) = strict {
            guard case .success(let other) = loose else {
                throw BrokenInvariant(description: "JSON, but not JSON5: \(loose)")
            }
            try require(node == other, "as JSON \(node), as JSON5 \(other)")
        }
        for result in [strict, loose] {
            switch result {
            case .success(let node): try check(node)
            case .failure(let error):
                try require((0...bytes.count).contains(error.offset), "\(error) lies outside \(bytes.count) bytes")
                try require(error.line >= 1 && error.column >= 1, "\(error) has no place")
            }
        }
    }

    private static func check(_ node: JSONNode) throws {
        let value = node.cborValue
        for pretty in [false, true] {
            let text = JSONWriter(pretty: pretty).text(value)
            try require(try JSONReader().read(text).cborValue == value, "\(value) was written as \(text)")
        }
        try require(try CBORValue(decoding: try value.encoded()) == value, "\(value) is another in CBOR")
    }
}

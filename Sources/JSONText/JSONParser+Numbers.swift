/// Reads numbers: integers exactly, everything with a fraction or an exponent as a correctly rounded double.
extension JSONParser {
    /// Up to this length, messages quote a number, and the standard library reads a `json` floating-point number.
    private static let shortNumber = 64

    /// Reads the number at the current place; refuses `-Infinity` and the like, which JSON5 allows.
    mutating func readNumber() throws(JSONError) -> JSONNode.Value {
        let start = position
        let isNegative = current == UInt8(ascii: "-")
        if isNegative || (dialect == .json5 && current == UInt8(ascii: "+")) {
            position += 1
        }
        if dialect == .json5, current == UInt8(ascii: "0"),
            byte(at: position + 1).map({ $0 | 0x20 }) == UInt8(ascii: "x")
        {
            return try readHexadecimalInteger(isNegative: isNegative, from: start)
        }
        var literal = NumberLiteral(isNegative: isNegative)
        try readIntegerPart(into: &literal)
        try readFraction(into: &literal)
        try readExponent(into: &literal)
        if let byte = current, Self.isWordByte(byte) || byte == UInt8(ascii: ".") {
            throw error(.invalidNumber, "found \(found()) after a number, expected its end")
        }
        if let integer = literal.integer {
            return integer
        }
        guard literal.isFloatingPoint, let number = number(literal, from: start) else {
            throw outOfRange(literal, from: start)
        }
        return .number(number)
    }

    private func number(_ literal: NumberLiteral, from start: Int) -> Double? {
        let number =
            if dialect == .json, position - start <= Self.shortNumber {
                Double(String(decoding: bytes[start..<position], as: UTF8.self))
            } else {
                literal.double
            }
        return number.flatMap { $0.isFinite ? $0 : nil }
    }

    private mutating func readIntegerPart(into literal: inout NumberLiteral) throws(JSONError) {
        let start = position
        readDigits { literal.appendInteger($0) }
        let count = position - start
        if count > 1, bytes[start] == UInt8(ascii: "0") {
            throw error(.invalidNumber, "found a number that begins with a zero, expected no leading zeros", at: start)
        }
        guard count == 0 else { return }
        let isFraction = current == UInt8(ascii: ".")
        if dialect == .json5, isFraction, let next = byte(at: position + 1), Self.isDigit(next) {
            return
        }
        let word = asciiWord()
        if word == "NaN" || word == "Infinity" {
            throw error(.invalidNumber, "found \(word), expected a finite number")
        }
        throw error(isAtEnd ? .endOfText : .invalidNumber, "found \(found()), expected a digit")
    }

    private mutating func readFraction(into literal: inout NumberLiteral) throws(JSONError) {
        guard current == UInt8(ascii: ".") else { return }
        position += 1
        literal.isFloatingPoint = true
        let start = position
        readDigits { literal.appendFraction($0) }
        guard position > start || dialect == .json5 else {
            throw error(
                isAtEnd ? .endOfText : .invalidNumber,
                "found \(found()), expected a digit after the decimal point"
            )
        }
    }

    private mutating func readExponent(into literal: inout NumberLiteral) throws(JSONError) {
        guard let byte = current, byte | 0x20 == UInt8(ascii: "e") else { return }
        position += 1
        literal.isFloatingPoint = true
        let isNegative = current == UInt8(ascii: "-")
        if isNegative || current == UInt8(ascii: "+") {
            position += 1
        }
        let start = position
        readDigits { literal.appendExponent($0, isNegative: isNegative) }
        guard position > start else {
            throw error(isAtEnd ? .endOfText : .invalidNumber, "found \(found()), expected a digit in the exponent")
        }
    }

    private mutating func readHexadecimalInteger(
        isNegative: Bool,
        from start: Int
    ) throws(JSONError) -> JSONNode.Value {
        position += 2
        let digitsStart = position
        var literal = NumberLiteral(isNegative: isNegative)
        while let byte = current, let digit = Hexadecimal.digit(byte) {
            literal.appendInteger(digit, radix: 16)
            position += 1
        }
        guard position > digitsStart else {
            throw error(isAtEnd ? .endOfText : .invalidNumber, "found \(found()), expected a hexadecimal digit")
        }
        if let byte = current, Self.isWordByte(byte) || byte == UInt8(ascii: ".") {
            throw error(.invalidNumber, "found \(found()) after a number, expected its end")
        }
        guard let integer = literal.integer else {
            throw outOfRange(literal, from: start)
        }
        return integer
    }

    private mutating func readDigits(_ take: (UInt8) -> Void) {
        while let byte = current, Self.isDigit(byte) {
            take(byte - UInt8(ascii: "0"))
            position += 1
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private mutating func outOfRange(_ literal: NumberLiteral, from start: Int) -> JSONError {
        let length = position - start
        let found =
            if length <= Self.shortNumber {
                String(decoding: bytes[start..<position], as: UTF8.self)
            } else {
                "a number of \(length) characters"
            }
        let expected =
            literal.isFloatingPoint
            ? "expected one that a double can hold" : "expected an integer from -2^64 to 2^64 - 1"
        return error(.numberOutOfRange, "number out of range: found \(found), \(expected)", at: start)
    }
}

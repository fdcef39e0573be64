/// The state of one reading (the bytes, and the place in them), and the reading of values, arrays and objects.
struct JSONParser {
    let bytes: [UInt8]
    let dialect: JSONReader.Dialect
    let maximumDepth: Int
    var position = 0
    var valuesLeft = Int.max
    var locator: JSONLocator

    /// Objects up to this many members are searched for a key one by one, which is quicker than a dictionary.
    private static let smallObject = 8

    init(bytes: [UInt8], dialect: JSONReader.Dialect, maximumDepth: Int) {
        self.bytes = bytes
        self.dialect = dialect
        self.maximumDepth = maximumDepth
        self.locator = JSONLocator(bytes)
    }

    var isAtEnd: Bool { position >= bytes.count }
    var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    func byte(at offset: Int) -> UInt8? { offset < bytes.count ? bytes[offset] : nil }

    mutating func readValue(depth: Int) throws(JSONError) -> JSONNode {
        let start = position
        guard let first = current else {
            throw error(.endOfText, "found the end of the text, expected a value")
        }
        guard valuesLeft > 0 else {
            throw error(.tooManyValues, "found one more value than a text may hold here")
        }
        valuesLeft -= 1
        // This comes before the reading of the children, so that the locator only walks forward.
        let location = locator.location(at: start)
        let value: JSONNode.Value
        switch first {
        case UInt8(ascii: "{"):
            value = .object(try readMembers(depth: depth + 1, opened: location))
        case UInt8(ascii: "["):
            value = .array(try readElements(depth: depth + 1, opened: location))
        case UInt8(ascii: "\""):
            value = .string(try readString())
        case UInt8(ascii: "'") where dialect == .json5:
            value = .string(try readString())
        case UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "0")...UInt8(ascii: "9"):
            value = try readNumber()
        default:
            value = try readLiteral()
        }
        return JSONNode(value: value, location: location)
    }

    private mutating func enter(_ depth: Int) throws(JSONError) {
        guard depth <= maximumDepth else {
            throw error(.tooDeep, "found arrays and objects nested deeper than \(maximumDepth), which is the limit")
        }
        position += 1
        try skipTrivia()
    }

    private mutating func readElements(depth: Int, opened: JSONLocation) throws(JSONError) -> [JSONNode] {
        try enter(depth)
        var elements: [JSONNode] = []
        while true {
            switch current {
            case UInt8(ascii: "]") where elements.isEmpty || dialect == .json5:
                position += 1
                return elements
            case UInt8(ascii: "]"):
                throw error(.unexpectedCharacter, "found \"]\" after a comma, expected a value")
            case nil:
                throw error(.endOfText, "found the end of the text in the array that begins at \(opened)")
            default:
                break
            }
            elements.append(try readValue(depth: depth))
            if try readSeparator(closing: UInt8(ascii: "]"), of: "array", opened: opened) {
                return elements
            }
        }
    }

    private mutating func readMembers(depth: Int, opened: JSONLocation) throws(JSONError) -> [JSONNode.Member] {
        try enter(depth)
        var members: [JSONNode.Member] = []
        var keys: [[UInt8]: JSONLocation] = [:]
        while true {
            switch current {
            case UInt8(ascii: "}") where members.isEmpty || dialect == .json5:
                position += 1
                return members
            case UInt8(ascii: "}"):
                throw error(.unexpectedCharacter, "found \"}\" after a comma, expected a key")
            case nil:
                throw error(.endOfText, "found the end of the text in the object that begins at \(opened)")
            default:
                break
            }
            let member = try readMember(depth: depth, before: members, keys: &keys)
            members.append(member)
            if try readSeparator(closing: UInt8(ascii: "}"), of: "object", opened: opened) {
                return members
            }
        }
    }

    private mutating func readMember(
        depth: Int,
        before members: [JSONNode.Member],
        keys: inout [[UInt8]: JSONLocation]
    ) throws(JSONError) -> JSONNode.Member {
        let start = position
        let keyLocation = locator.location(at: start)
        let key = try readKey()
        if let first = firstLocation(of: key, at: keyLocation, in: members, keys: &keys) {
            throw error(
                .duplicateKey,
                "found the key \(ShownValue.text(key)) a second time, it stands first at \(first)",
                at: start
            )
        }
        try skipTrivia()
        guard current == UInt8(ascii: ":") else {
            let expected = "expected \":\" after the key \(ShownValue.text(key))"
            throw error(isAtEnd ? .endOfText : .unexpectedCharacter, "found \(found()), \(expected)")
        }
        position += 1
        try skipTrivia()
        let node = try readValue(depth: depth)
        return JSONNode.Member(key: key, keyLocation: keyLocation, node: node)
    }

    /// Where the key came before; nil for a new key, which is added to `keys` if the object is not small.
    private func firstLocation(
        of key: String,
        at location: JSONLocation,
        in members: [JSONNode.Member],
        keys: inout [[UInt8]: JSONLocation]
    ) -> JSONLocation? {
        guard members.count >= Self.smallObject else {
            return members.first { $0.key.utf8.elementsEqual(key.utf8) }?.keyLocation
        }
        if keys.isEmpty {
            for member in members {
                keys[Array(member.key.utf8)] = member.keyLocation
            }
        }
        if let first = keys[Array(key.utf8)] {
            return first
        }
        keys[Array(key.utf8)] = location
        return nil
    }

    private mutating func readKey() throws(JSONError) -> String {
        if current == UInt8(ascii: "\"") || (dialect == .json5 && current == UInt8(ascii: "'")) {
            return try readString()
        }
        guard dialect == .json5 else {
            throw error(.unexpectedCharacter, "found \(found()), expected a key in double quotes")
        }
        return try readIdentifier()
    }

    /// Reads what follows a value; returns false for a comma, and true for the closing bracket, which ends the
    /// container.
    private mutating func readSeparator(
        closing: UInt8,
        of container: String,
        opened: JSONLocation
    ) throws(JSONError) -> Bool {
        try skipTrivia()
        switch current {
        case UInt8(ascii: ","):
            position += 1
            try skipTrivia()
            return false
        case closing:
            position += 1
            return true
        case nil:
            throw error(.endOfText, "found the end of the text in the \(container) that begins at \(opened)")
        default:
            let bracket = JSONEscaping.quoted(String(UnicodeScalar(closing)))
            throw error(
                .unexpectedCharacter,
                "found \(found()), expected \",\" or \(bracket) in the \(container) that begins at \(opened)"
            )
        }
    }

    private mutating func readLiteral() throws(JSONError) -> JSONNode.Value {
        let word = asciiWord()
        switch word {
        case "true":
            position += word.utf8.count
            return .bool(true)
        case "false":
            position += word.utf8.count
            return .bool(false)
        case "null":
            position += word.utf8.count
            return .null
        case "NaN", "Infinity":
            throw error(.invalidNumber, "found \(word), expected a finite number")
        default:
            throw error(.unexpectedCharacter, "found \(found()), expected a value")
        }
    }
}

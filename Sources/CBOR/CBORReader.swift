/// A cursor over the bytes of CBOR items; it reads head by head and trusts no byte.
///
/// Every read checks how many bytes are left. If a read of one head or of one unchunked string throws, the position is
/// again where that item begins. The bytes must outlive the reader.
package struct CBORReader {
    package let bytes: UnsafeRawBufferPointer
    package let limits: CBORLimits

    /// The offset of the next byte to read.
    package internal(set) var position: Int

    @usableFromInline
    init(_ bytes: UnsafeRawBufferPointer, position: Int, limits: CBORLimits) {
        self.bytes = bytes
        self.position = min(max(position, 0), bytes.count)
        self.limits = limits
    }

    package init(_ bytes: UnsafeRawBufferPointer, limits: CBORLimits = .standard) {
        self.init(bytes, position: 0, limits: limits)
    }

    package var bytesLeft: Int { bytes.count &- position }

    package var isAtEnd: Bool { position == bytes.count }

    /// Reads the first byte and the argument of the next item.
    @inline(__always)
    package mutating func readHead() throws(CBORError) -> CBORHead {
        guard position < bytes.count else { throw failure(.unexpectedEnd) }
        let initialByte = bytes[position]
        let additional = initialByte & 0x1F
        guard additional < 24 else { return try readLongHead() }
        position &+= 1
        let major = CBORMajorType(initialByte: initialByte)
        return CBORHead(majorType: major, additional: additional, argument: UInt64(additional))
    }

    @inline(never)
    private mutating func readLongHead() throws(CBORError) -> CBORHead {
        let initialByte = bytes[position]
        let major = CBORMajorType(initialByte: initialByte)
        let additional = initialByte & 0x1F
        let argument: UInt64
        let length: Int
        switch additional {
        case 24:
            guard bytesLeft >= 2 else { throw failure(.unexpectedEnd) }
            argument = UInt64(bytes[position &+ 1])
            length = 2
            if major == .simpleOrFloat, argument < 32 {
                throw failure(.badSimpleValue(UInt8(truncatingIfNeeded: argument)))
            }
        case 25:
            guard bytesLeft >= 3 else { throw failure(.unexpectedEnd) }
            argument = UInt64(load(UInt16.self))
            length = 3
        case 26:
            guard bytesLeft >= 5 else { throw failure(.unexpectedEnd) }
            argument = UInt64(load(UInt32.self))
            length = 5
        case 27:
            guard bytesLeft >= 9 else { throw failure(.unexpectedEnd) }
            argument = load(UInt64.self)
            length = 9
        case 31 where major != .unsigned && major != .negative && major != .tag:
            argument = 0
            length = 1
        default:
            throw failure(.reservedAdditionalInformation(initialByte: initialByte))
        }
        position &+= length
        return CBORHead(majorType: major, additional: additional, argument: argument)
    }

    /// The major type of the next item, nil at the end of the input.
    package var nextMajorType: CBORMajorType? {
        position < bytes.count ? CBORMajorType(initialByte: bytes[position]) : nil
    }

    package mutating func readUnsigned() throws(CBORError) -> UInt64 {
        let start = position
        let head = try readHead()
        guard head.majorType == .unsigned else { throw mismatch("an unsigned integer", at: start) }
        return head.argument
    }

    /// Reads an integer of either sign into a type; throws if the type cannot hold it.
    @inline(__always)
    package mutating func readInteger<T: FixedWidthInteger>(_ type: T.Type = T.self) throws(CBORError) -> T {
        let start = position
        let head = try readHead()
        if let value = head.integer(type) { return value }
        switch head.majorType {
        case .unsigned: throw outOfRange("\(head.argument)", T.self, at: start)
        case .negative: throw outOfRange(CBORHead.negativeDescription(head.argument), T.self, at: start)
        default: throw mismatch("an integer (\(T.self))", at: start)
        }
    }

    package mutating func readBool() throws(CBORError) -> Bool {
        guard position < bytes.count else { throw failure(.unexpectedEnd) }
        switch bytes[position] {
        case 0xF4:
            position &+= 1
            return false
        case 0xF5:
            position &+= 1
            return true
        default:
            throw mismatch("a boolean", at: position)
        }
    }

    /// Takes a null or undefined if it comes next, and returns whether it did.
    package mutating func readNull() throws(CBORError) -> Bool {
        guard position < bytes.count else { throw failure(.unexpectedEnd) }
        guard bytes[position] == 0xF6 || bytes[position] == 0xF7 else { return false }
        position &+= 1
        return true
    }

    /// Takes the break that ends an item of indefinite length if it comes next, and returns whether it did.
    package mutating func readBreak() throws(CBORError) -> Bool {
        guard position < bytes.count else { throw failure(.unexpectedEnd) }
        guard bytes[position] == CBORHead.breakByte else { return false }
        position &+= 1
        return true
    }

    /// Reads a float of any of the three widths; refuses integers.
    package mutating func readDouble() throws(CBORError) -> Double {
        let start = position
        let head = try readHead()
        guard let value = head.floatingPoint else { throw mismatch("a floating-point number", at: start) }
        return value
    }

    package mutating func readTag() throws(CBORError) -> UInt64 {
        let start = position
        let head = try readHead()
        guard head.majorType == .tag else { throw mismatch("a tag", at: start) }
        return head.argument
    }

    /// Reads the head of an array and returns its count; nil for an array of indefinite length.
    package mutating func readArrayHead() throws(CBORError) -> Int? {
        let start = position
        let head = try readHead()
        guard head.majorType == .array else { throw mismatch("an array", at: start) }
        return head.isIndefinite ? nil : try checkedCount(head.argument, bytesEach: 1, at: start)
    }

    /// Reads the head of a map and returns how many pairs it has; nil for a map of indefinite length.
    package mutating func readMapHead() throws(CBORError) -> Int? {
        let start = position
        let head = try readHead()
        guard head.majorType == .map else { throw mismatch("a map", at: start) }
        return head.isIndefinite ? nil : try checkedCount(head.argument, bytesEach: 2, at: start)
    }

    /// A declared count, checked against the bytes left: no caller ever reserves memory for more items than can follow.
    @inline(__always)
    mutating func checkedCount(_ count: UInt64, bytesEach: Int, at start: Int) throws(CBORError) -> Int {
        if count <= UInt64(bytesLeft / bytesEach) { return Int(truncatingIfNeeded: count) }
        throw impossibleCount(count, at: start)
    }

    @inline(never)
    private mutating func impossibleCount(_ count: UInt64, at start: Int) -> CBORError {
        let left = bytesLeft
        position = start
        // A count below 2^32 may come from input that was cut off; no accepted input has room for a greater count.
        return failure(count > UInt64(UInt32.max) ? .countTooLarge(count: count, bytesLeft: left) : .unexpectedEnd)
    }

    private func load<T: FixedWidthInteger>(_ type: T.Type) -> T {
        T(bigEndian: bytes.loadUnaligned(fromByteOffset: position &+ 1, as: type))
    }
}

extension CBORReader {
    @inline(never)
    func failure(_ code: CBORError.Code) -> CBORError {
        CBORError(code, offset: position)
    }

    /// The error for an item of another kind; the reader steps back to that item.
    @inline(never)
    mutating func mismatch(_ expected: String, at start: Int) -> CBORError {
        position = start
        return CBORError(.typeMismatch(expected: expected, found: nextItemName), offset: start)
    }

    @inline(never)
    mutating func outOfRange(_ value: String, _ type: Any.Type, at start: Int) -> CBORError {
        position = start
        return CBORError(.numberOutOfRange(value: value, type: "\(type)"), offset: start)
    }

    /// What comes next, in words for an error.
    var nextItemName: String {
        var ahead = self
        guard let head = try? ahead.readHead() else { return "something unreadable" }
        return head.name
    }
}

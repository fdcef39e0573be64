/// The working memory of one decoding: the bytes, and for each level of recursion a cursor into the map being read.
///
/// Containers say themselves where they begin and what they hold; the cursors only spare them the search. A cursor that
/// another container has taken over is set up anew, so containers may be read in any order and kept.
final class DecodingSession {
    let limits: CBORLimits
    private(set) var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    private(set) var isBusy = false

    /// How many values are being decoded inside each other.
    private(set) var level = 0
    private var highestCursor = -1

    let cursors: UnsafeMutablePointer<MapCursor>
    private let cursorCount: Int

    /// A map with a single key that was no case of the enumeration being read.
    var unmatchedCase: (map: Int, key: Int)?

    init(limits: CBORLimits) {
        self.limits = limits
        // Values inside each other that share one item (an enumeration with a raw value, an optional) cost no depth
        // in the bytes but stack all the same.
        cursorCount = limits.maximumDepth * 2 + 3
        cursors = .allocate(capacity: cursorCount)
        cursors.initialize(repeating: MapCursor(), count: cursorCount)
    }

    deinit {
        cursors.deinitialize(count: cursorCount)
        cursors.deallocate()
    }

    func begin(reading bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        isBusy = true
        level = 0
    }

    func end() {
        for index in 0..<(highestCursor &+ 1) {
            cursors[index].map = -1
            if cursors[index].table != nil { cursors[index].table = nil }
        }
        highestCursor = -1
        unmatchedCase = nil
        // Whoever kept a container reads nothing any more, rather than memory that is gone.
        bytes = UnsafeRawBufferPointer(start: nil, count: 0)
        isBusy = false
    }

    @inline(__always)
    func reader(at offset: Int) -> CBORReader {
        CBORReader(bytes, position: offset, limits: limits)
    }

    @inline(__always)
    func cursor(at level: Int) -> UnsafeMutablePointer<MapCursor> {
        let index = min(level, cursorCount &- 1)
        if index > highestCursor { highestCursor = index }
        return cursors + index
    }

    /// Decodes the value at an offset by its type's own `init(from:)`, or by the form that special types have here.
    func decode<T: Decodable>(_ type: T.Type, at offset: Int) throws -> T {
        if PlainType.isPlain(type) {
            var end = offset
            return try PlainType.decode(type, at: &end, in: self)
        }
        if SpecialType.isSpecial(type) {
            return try SpecialType.decode(type, at: offset, in: self)
        }
        guard level < cursorCount - 2 else {
            throw CBORError(.depthExceeded(limit: limits.maximumDepth), offset: offset)
        }
        level &+= 1
        defer { level &-= 1 }
        do {
            return try T(from: ValueDecoder(session: self, offset: offset))
        } catch {
            throw described(error, at: offset)
        }
    }

    /// The end of a value that has just been decoded, if that is known without passing over it.
    @inline(__always)
    func knownEnd(ofMapAt offset: Int) -> Int? {
        let cursor = cursors + (level &+ 1)
        return cursor.pointee.map == offset && cursor.pointee.entry == cursor.pointee.count
            ? cursor.pointee.position : nil
    }

    func end(ofItemAt offset: Int) throws(CBORError) -> Int {
        if let end = knownEnd(ofMapAt: offset) { return end }
        var reader = reader(at: offset)
        try reader.skipCheckedItem(levelsLeft: limits.maximumDepth)
        return reader.position
    }

    /// Where the content of an item begins once the tags are passed that say nothing about the type.
    @inline(__always)
    func skippingSelfDescription(at offset: Int) throws(CBORError) -> Int {
        // 55799 takes the three bytes D9 D9 F7.
        guard offset < bytes.count, bytes[offset] == 0xD9 else { return offset }
        var reader = reader(at: offset)
        let tag = try reader.readTag()
        return tag == CBORTag.selfDescribed ? reader.position : offset
    }
}

/// Turning what a type's own `init(from:)` throws into this module's error.
extension DecodingSession {
    @inline(never)
    func described(_ error: any Error, at offset: Int) -> CBORError {
        switch error {
        case let error as CBORError:
            return error
        case DecodingError.dataCorrupted(let context):
            if context.debugDescription.hasPrefix("Cannot initialize "), let name = rawCaseName(at: offset) {
                return CBORError(.unknownCase(name), offset: offset)
            }
            return CBORError(.invalidValue(context.debugDescription), offset: offset)
        case DecodingError.typeMismatch(let type, let context):
            if let unmatched = unmatchedCase, unmatched.map == offset,
                let key = MapKey(at: unmatched.key, in: bytes)
            {
                return CBORError(.unknownCase(key.plainText), offset: unmatched.key)
            }
            return CBORError(.invalidValue("expected \(type): \(context.debugDescription)"), offset: offset)
        case DecodingError.valueNotFound(let type, let context):
            return CBORError(.invalidValue("expected \(type): \(context.debugDescription)"), offset: offset)
        case DecodingError.keyNotFound(let key, _):
            return CBORError(.missingKey(key.stringValue), offset: offset)
        default:
            return CBORError(.invalidValue("\(error)"), offset: offset)
        }
    }

    /// The raw value that named no case: what the standard library's message is about.
    private func rawCaseName(at offset: Int) -> String? {
        var reader = reader(at: offset)
        switch reader.nextMajorType {
        case .text: return try? reader.readText()
        case .unsigned, .negative: return (try? reader.readHead())?.name
        default: return nil
        }
    }
}

/// Byte and text strings, whole or in chunks.
extension CBORReader {
    /// Reads a byte string of definite length in place.
    package mutating func readBytes() throws(CBORError) -> UnsafeRawBufferPointer {
        try readDefiniteString(.bytes)
    }

    /// Reads a text string of definite length in place, and checks that it is UTF-8.
    package mutating func readTextBytes() throws(CBORError) -> UnsafeRawBufferPointer {
        let start = position
        let text = try readDefiniteString(.text)
        try validate(text, endingAt: position, start: start)
        return text
    }

    /// Reads a text string, chunked or not.
    package mutating func readText() throws(CBORError) -> String {
        guard nextIsIndefinite else {
            return String(copying: try readTextBytes())
        }
        return String(decoding: try collectChunks(of: .text), as: UTF8.self)
    }

    /// Reads a text string from input that `skipItem()` has checked.
    @inline(__always)
    mutating func readCheckedText() throws(CBORError) -> String {
        nextIsIndefinite ? try readText() : String(copying: try readDefiniteString(.text))
    }

    /// Reads a byte string, chunked or not, into an array of its own.
    package mutating func readByteArray() throws(CBORError) -> [UInt8] {
        nextIsIndefinite ? try collectChunks(of: .bytes) : Array(try readBytes())
    }

    var nextIsIndefinite: Bool { position < bytes.count && bytes[position] & 0x1F == 31 }

    /// Passes over a string and checks all of it.
    mutating func skipString(_ head: CBORHead, from start: Int) throws(CBORError) {
        guard head.isIndefinite else {
            let content = try takeContent(head, from: start)
            if head.majorType == .text { try validate(content, endingAt: position, start: start) }
            return
        }
        while let chunk = try nextChunk(of: head.majorType) {
            if head.majorType == .text { try validate(chunk, endingAt: position, start: position) }
        }
    }

    /// The next chunk of a string of indefinite length; nil once the break has been taken.
    private mutating func nextChunk(of major: CBORMajorType) throws(CBORError) -> UnsafeRawBufferPointer? {
        if try readBreak() { return nil }
        let start = position
        guard nextMajorType == major, !nextIsIndefinite else { throw failure(.badChunk) }
        return try takeContent(try readHead(), from: start)
    }

    /// The joined chunks of a string of indefinite length.
    mutating func collectChunks(of major: CBORMajorType) throws(CBORError) -> [UInt8] {
        let start = position
        guard try readHead().majorType == major else {
            throw mismatch(major == .text ? "a text string" : "a byte string", at: start)
        }
        var collected: [UInt8] = []
        while let chunk = try nextChunk(of: major) {
            // Each chunk must consist of whole characters (RFC 8949 section 3.2.3).
            if major == .text { try validate(chunk, endingAt: position, start: position) }
            collected.append(contentsOf: chunk)
        }
        return collected
    }

    private mutating func readDefiniteString(_ major: CBORMajorType) throws(CBORError) -> UnsafeRawBufferPointer {
        let start = position
        let head = try readHead()
        guard head.majorType == major, !head.isIndefinite else {
            throw mismatch(major == .text ? "a text string" : "a byte string", at: start)
        }
        return try takeContent(head, from: start)
    }

    /// The content of a string whose definite head has just been read.
    mutating func takeContent(_ head: CBORHead, from start: Int) throws(CBORError) -> UnsafeRawBufferPointer {
        let count = try checkedCount(head.argument, bytesEach: 1, at: start)
        let content = UnsafeRawBufferPointer(rebasing: bytes[position..<(position &+ count)])
        position &+= count
        return content
    }

    private mutating func validate(
        _ text: UnsafeRawBufferPointer,
        endingAt end: Int,
        start: Int
    ) throws(CBORError) {
        guard let invalid = firstInvalidUTF8(in: text) else { return }
        position = start
        throw CBORError(.invalidUTF8, offset: end &- text.count &+ invalid)
    }
}

extension String {
    /// Text from bytes that the standard library validates in its own copy.
    ///
    /// So the result is always UTF-8, even if another process writes to the memory at this moment.
    @inline(__always)
    init(copying bytes: UnsafeRawBufferPointer) {
        self.init(unsafeUninitializedCapacity: bytes.count) { target in
            UnsafeMutableRawBufferPointer(target).copyMemory(from: bytes)
            return bytes.count
        }
    }
}

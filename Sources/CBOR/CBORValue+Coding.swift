/// Reading a tree from bytes and writing it back.
extension CBORValue {
    /// Reads the bytes as one item; throws if they pass a limit, repeat a key, or are not exactly one well-formed item.
    package init(decoding bytes: UnsafeRawBufferPointer, limits: CBORLimits = .standard) throws(CBORError) {
        var reader = CBORReader(bytes, limits: limits)
        do throws(CBORError) {
            try reader.skipWholeInput()
            reader.position = 0
            self = try reader.buildValue(levelsLeft: limits.maximumDepth)
        } catch {
            throw error.locating(in: bytes, limits: limits)
        }
    }

    package init(decoding bytes: [UInt8], limits: CBORLimits = .standard) throws(CBORError) {
        var result: Result<CBORValue, CBORError> = .success(.null)
        bytes.withUnsafeBytes { raw in
            do throws(CBORError) {
                result = .success(try CBORValue(decoding: raw, limits: limits))
            } catch {
                result = .failure(error)
            }
        }
        self = try result.get()
    }

    /// Appends the item; throws for a simple value that does not exist and for nesting past the limit.
    package func encode(into buffer: CBORBuffer, limits: CBORLimits = .standard) throws(CBORError) {
        let start = buffer.count
        do throws(CBORError) {
            try write(to: CBORWriter(buffer), levelsLeft: limits.maximumDepth, limits)
        } catch {
            buffer.truncate(to: start)
            throw error
        }
    }

    package func encoded(limits: CBORLimits = .standard) throws(CBORError) -> [UInt8] {
        let buffer = CBORBuffer()
        try encode(into: buffer, limits: limits)
        return buffer.copied()
    }

    private func write(to writer: CBORWriter, levelsLeft: Int, _ limits: CBORLimits) throws(CBORError) {
        switch self {
        case .array, .map, .tagged:
            guard levelsLeft > 0 else {
                throw CBORError(.depthExceeded(limit: limits.maximumDepth), offset: writer.buffer.count)
            }
        default: break
        }
        switch self {
        case .unsigned(let value): writer.unsigned(value)
        case .negative(let value): writer.negative(value)
        case .bytes(let value): writer.bytes(value)
        case .text(let value): writer.text(value)
        case .array(let elements):
            writer.arrayHead(elements.count)
            for element in elements { try element.write(to: writer, levelsLeft: levelsLeft - 1, limits) }
        case .map(let entries):
            writer.mapHead(entries.count)
            for entry in entries {
                try entry.key.write(to: writer, levelsLeft: levelsLeft - 1, limits)
                try entry.value.write(to: writer, levelsLeft: levelsLeft - 1, limits)
            }
        case .tagged(let tag, let content):
            writer.tag(tag)
            try content.write(to: writer, levelsLeft: levelsLeft - 1, limits)
        case .simple(let value): try writer.simple(value)
        case .bool(let value): writer.bool(value)
        case .null: writer.null()
        case .undefined: writer.undefined()
        case .double(let value): writer.floatingPoint(value)
        }
    }
}

extension CBORReader {
    /// Checks that all the bytes are exactly one item; the reader must still be at their beginning.
    mutating func skipWholeInput() throws(CBORError) {
        if skipFlatMap(), isAtEnd { return }
        position = 0
        try skipItem()
        guard isAtEnd else { throw failure(.trailingBytes(count: bytesLeft)) }
    }

    /// Reads the next item as a tree.
    ///
    /// This checks the depth again: another process may have changed shared memory since the first check.
    fileprivate mutating func buildValue(levelsLeft: Int) throws(CBORError) -> CBORValue {
        let start = position
        let head = try readHead()
        switch head.majorType {
        case .unsigned: return .unsigned(head.argument)
        case .negative: return .negative(head.argument)
        case .bytes:
            position = start
            return .bytes(try readByteArray())
        case .text:
            position = start
            return .text(try readText())
        case .array, .map, .tag:
            guard levelsLeft > 0 else {
                throw CBORError(.depthExceeded(limit: limits.maximumDepth), offset: start)
            }
            switch head.majorType {
            case .array: return .array(try buildElements(head, start, levelsLeft - 1))
            case .map: return .map(try buildEntries(head, start, levelsLeft - 1))
            default: return .tagged(head.argument, try buildValue(levelsLeft: levelsLeft - 1))
            }
        case .simpleOrFloat:
            if let number = head.floatingPoint { return .double(number) }
            switch head.additional {
            case 20: return .bool(false)
            case 21: return .bool(true)
            case 22: return .null
            case 23: return .undefined
            case 31: throw CBORError(.unexpectedBreak, offset: start)
            default: return .simple(UInt8(truncatingIfNeeded: head.argument))
            }
        }
    }

    private mutating func buildElements(
        _ head: CBORHead,
        _ start: Int,
        _ levelsLeft: Int
    ) throws(CBORError) -> [CBORValue] {
        var elements: [CBORValue] = []
        if head.isIndefinite {
            while !(try readBreak()) { elements.append(try buildValue(levelsLeft: levelsLeft)) }
        } else {
            let count = try checkedCount(head.argument, bytesEach: 1, at: start)
            elements.reserveCapacity(count)
            for _ in 0..<count { elements.append(try buildValue(levelsLeft: levelsLeft)) }
        }
        return elements
    }

    private mutating func buildEntries(
        _ head: CBORHead,
        _ start: Int,
        _ levelsLeft: Int
    ) throws(CBORError) -> [CBORValue.Entry] {
        var entries: [CBORValue.Entry] = []
        let count = head.isIndefinite ? nil : try checkedCount(head.argument, bytesEach: 2, at: start)
        if let count { entries.reserveCapacity(count) }
        while true {
            if let count {
                guard entries.count < count else { return entries }
            } else if try readBreak() {
                return entries
            }
            let key = try buildValue(levelsLeft: levelsLeft)
            entries.append(CBORValue.Entry(key: key, value: try buildValue(levelsLeft: levelsLeft)))
        }
    }
}

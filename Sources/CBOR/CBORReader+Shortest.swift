extension CBORReader {
    /// Appends the next item as `CBORValue` writes it: in the shortest spelling and with definite lengths.
    ///
    /// Two items are the same if this appends the same bytes for both, however they were spelled. Each level of nesting
    /// takes time and memory at most in proportion to the item's size. A key that comes twice is no error.
    ///
    /// The input must be one that `skipItem()` has checked. If another process has changed the bytes since then, the
    /// result may be another item, but the reader never leaves the input.
    mutating func copyShortest(to buffer: CBORBuffer, levelsLeft: Int) throws(CBORError) {
        let start = position
        let head = try readHead()
        let top = head.majorType.rawValue << 5
        switch head.majorType {
        case .unsigned, .negative: buffer.storage.pointee.head(top, head.argument)
        case .bytes, .text: try copyString(head, from: start, to: buffer)
        case .array, .map, .tag:
            guard levelsLeft > 0 else {
                throw CBORError(.depthExceeded(limit: limits.maximumDepth), offset: start)
            }
            if head.majorType == .tag {
                buffer.storage.pointee.head(top, head.argument)
                try copyShortest(to: buffer, levelsLeft: levelsLeft &- 1)
            } else {
                try copyEntries(head, from: start, to: buffer, levelsLeft: levelsLeft &- 1)
            }
        case .simpleOrFloat:
            if head.isBreak { throw CBORError(.unexpectedBreak, offset: start) }
            if let number = head.floatingPoint {
                buffer.storage.pointee.floatingPoint(number)
            } else {
                buffer.storage.pointee.head(top, head.argument)
            }
        }
    }

    private mutating func copyString(_ head: CBORHead, from start: Int, to buffer: CBORBuffer) throws(CBORError) {
        let top = head.majorType.rawValue << 5
        guard head.isIndefinite else {
            let content = try takeContent(head, from: start)
            buffer.storage.pointee.head(top, UInt64(content.count))
            return buffer.append(content)
        }
        position = start
        let content = try collectChunks(of: head.majorType)
        buffer.storage.pointee.head(top, UInt64(content.count))
        buffer.append(content)
    }

    private mutating func copyEntries(
        _ head: CBORHead,
        from start: Int,
        to buffer: CBORBuffer,
        levelsLeft: Int
    ) throws(CBORError) {
        let perEntry = head.majorType == .map ? 2 : 1
        guard head.isIndefinite else {
            let count = try checkedCount(head.argument, bytesEach: perEntry, at: start)
            buffer.storage.pointee.head(head.majorType.rawValue << 5, UInt64(count))
            for _ in 0..<count &* perEntry { try copyShortest(to: buffer, levelsLeft: levelsLeft) }
            return
        }
        let place = buffer.count
        buffer.append(0)
        var items = 0
        while !(try readBreak()) {
            try copyShortest(to: buffer, levelsLeft: levelsLeft)
            items &+= 1
        }
        buffer.storage.pointee.patchHead(head.majorType, items / perEntry, at: place)
    }
}

/// Passing over whole items: the first time with a check that every byte of them is well-formed.
extension CBORReader {
    /// Passes over the next item and checks it to the last byte: lengths, chunks, breaks, reserved and simple values,
    /// UTF-8, nesting, the number of items, and that no map has a key twice (``MapKey`` says which keys are the same).
    ///
    /// This allocates memory only for maps of more than 16 pairs, and for keys that are chunked strings, arrays, maps
    /// or tagged items.
    package mutating func skipItem() throws(CBORError) {
        var itemsLeft = limits.maximumItems
        try skipItem(levelsLeft: limits.maximumDepth, itemsLeft: &itemsLeft)
    }

    private mutating func skipItem(levelsLeft: Int, itemsLeft: inout Int) throws(CBORError) {
        let start = position
        let head = try readHead()
        itemsLeft &-= 1
        guard itemsLeft >= 0 else {
            throw CBORError(.tooManyItems(limit: limits.maximumItems), offset: start)
        }
        switch head.majorType {
        case .unsigned, .negative:
            return
        case .bytes, .text:
            try skipString(head, from: start)
        case .array, .map, .tag:
            guard levelsLeft > 0 else {
                throw CBORError(.depthExceeded(limit: limits.maximumDepth), offset: start)
            }
            switch head.majorType {
            case .array: try skipElements(head, start, levelsLeft &- 1, &itemsLeft)
            case .map: try skipPairs(head, start, levelsLeft &- 1, &itemsLeft)
            default: try skipItem(levelsLeft: levelsLeft &- 1, itemsLeft: &itemsLeft)
            }
        case .simpleOrFloat:
            if head.isBreak { throw CBORError(.unexpectedBreak, offset: start) }
        }
    }

    private mutating func skipElements(
        _ head: CBORHead,
        _ start: Int,
        _ levelsLeft: Int,
        _ itemsLeft: inout Int
    ) throws(CBORError) {
        if head.isIndefinite {
            while !(try readBreak()) { try skipItem(levelsLeft: levelsLeft, itemsLeft: &itemsLeft) }
        } else {
            let count = try checkedCount(head.argument, bytesEach: 1, at: start)
            let skipped = skipPlainElements(upTo: count, itemsLeft: &itemsLeft)
            for _ in skipped..<count { try skipItem(levelsLeft: levelsLeft, itemsLeft: &itemsLeft) }
        }
    }

    private mutating func skipPairs(
        _ head: CBORHead,
        _ start: Int,
        _ levelsLeft: Int,
        _ itemsLeft: inout Int
    ) throws(CBORError) {
        let count = head.isIndefinite ? nil : try checkedCount(head.argument, bytesEach: 2, at: start)
        if let count, count <= CBORReader.flatPairs, skipFlatPairs(count, itemsLeft: &itemsLeft) { return }
        var seen = MapKeys(mapOffset: start)
        var index = 0
        while true {
            if let count {
                guard index < count else { return }
            } else if try readBreak() {
                return
            }
            index &+= 1
            let key = position
            try skipItem(levelsLeft: levelsLeft, itemsLeft: &itemsLeft)
            if count != 1 { try seen.insert(keyAt: key, endingAt: position, in: bytes) }
            try skipItem(levelsLeft: levelsLeft, itemsLeft: &itemsLeft)
        }
    }

    /// Passes over the next item with fewer checks than `skipItem()`.
    ///
    /// The input must be one that `skipItem()` has checked. If another process has changed the bytes since then, the
    /// reader may come to another place, but it never leaves the input.
    mutating func skipCheckedItem(levelsLeft: Int) throws(CBORError) {
        let start = position
        let head = try readHead()
        switch head.majorType {
        case .unsigned, .negative, .simpleOrFloat:
            if head.isBreak { throw CBORError(.unexpectedBreak, offset: start) }
        case .bytes, .text:
            if head.isIndefinite {
                try skipString(head, from: start)
            } else {
                _ = try takeContent(head, from: start)
            }
        case .array, .map, .tag:
            guard levelsLeft > 0 else {
                throw CBORError(.depthExceeded(limit: limits.maximumDepth), offset: start)
            }
            var count = 1
            if head.majorType != .tag {
                let perEntry = head.majorType == .map ? 2 : 1
                if head.isIndefinite {
                    while !(try readBreak()) { try skipCheckedItem(levelsLeft: levelsLeft &- 1) }
                    return
                }
                count = try checkedCount(head.argument, bytesEach: perEntry, at: start) &* perEntry
            }
            for _ in 0..<count { try skipCheckedItem(levelsLeft: levelsLeft &- 1) }
        }
    }
}

/// A walk from the first byte to another one, head by head; it knows which containers are around the item there.
///
/// The walk reads each byte before its end once, however deep the items are nested.
struct PathWalk {
    enum Kind {
        case array
        case map
        case tag
    }

    struct Level {
        let kind: Kind
        /// How many items are still to come, including the one at `index`; nil for a container of indefinite length.
        var left: UInt64?
        /// The number of the items before the one that the walk has come to; in a map, keys and values both count.
        var index = 0
        /// Where the last key of a map starts.
        var key: Int
    }

    /// The containers and tags around the item that the walk has come to, the outermost first.
    private(set) var levels: [Level] = []
    private var reader: CBORReader
    private var isPastOutermostItem = false

    /// Walks to `offset`, or to the item before it that cannot be passed over.
    init(to offset: Int, in bytes: UnsafeRawBufferPointer, limits: CBORLimits) {
        reader = CBORReader(bytes, limits: limits)
        while reader.position < offset, !isPastOutermostItem, enterOrPassItem(upTo: offset) {}
    }

    /// Goes to the next item, or into this one; returns false if `offset` is in this item, but in none inside it.
    private mutating func enterOrPassItem(upTo offset: Int) -> Bool {
        if let level = levels.last, level.left == nil, (try? reader.readBreak()) == true {
            levels.removeLast()
            endItem()
            return true
        }
        let start = reader.position
        guard let head = try? reader.readHead(), reader.position <= offset else { return false }
        switch head.majorType {
        case .tag: return enter(.tag, items: 1)
        case .array: return enter(.array, items: head.isIndefinite ? nil : head.argument)
        case .map:
            let (items, overflow) = head.argument.multipliedReportingOverflow(by: 2)
            return enter(.map, items: head.isIndefinite ? nil : overflow ? .max : items)
        case .bytes, .text:
            guard head.isIndefinite else {
                guard (try? reader.takeContent(head, from: start)) != nil else { return false }
                break
            }
            guard (try? reader.skipString(head, from: start)) != nil else { return false }
        case .unsigned, .negative, .simpleOrFloat:
            if head.isBreak { return false }
        }
        guard reader.position <= offset else { return false }
        endItem()
        return true
    }

    private mutating func enter(_ kind: Kind, items: UInt64?) -> Bool {
        if items == 0 {
            endItem()
        } else {
            guard levels.count < reader.limits.maximumDepth else { return false }
            levels.append(Level(kind: kind, left: items, key: reader.position))
        }
        return true
    }

    /// Counts an item that the walk has passed, and each container that ends with it.
    private mutating func endItem() {
        while var level = levels.popLast() {
            if level.left == 1 { continue }
            level.left = level.left.map { $0 - 1 }
            level.index += 1
            if level.index % 2 == 0 { level.key = reader.position }
            levels.append(level)
            return
        }
        isPastOutermostItem = true
    }
}

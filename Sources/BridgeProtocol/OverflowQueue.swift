package import DomainEvents

/// What waits before a link's outbox: events, which their policies may drop, and gaps where events were dropped.
///
/// A pure data structure. An event in the outbox has a link sequence and stays; an event in the queue has no sequence
/// yet.
@usableFromInline
package struct OverflowQueue: Sendable {
    /// An event that waits.
    package struct Waiting: Sendable {
        package let name: String
        package let context: EventContext
        package let attempt: UInt64
        package let wantsReceipt: Bool
        /// Whether a journal has to hear what becomes of the event.
        package let isOwed: Bool
        /// Whether the event was a dead letter; the letter no longer exists.
        package let wasLetter: Bool
        package let payload: [UInt8]

        package init(
            name: String,
            context: EventContext,
            attempt: UInt64,
            wantsReceipt: Bool,
            isOwed: Bool = false,
            wasLetter: Bool = false,
            payload: UnsafeRawBufferPointer
        ) {
            self.name = name
            self.context = context
            self.attempt = attempt
            self.wantsReceipt = wantsReceipt
            self.isOwed = isOwed
            self.wasLetter = wasLetter
            self.payload = Array(payload)
        }

        package var charge: Int { OverflowQueue.charge(forPayloadOf: payload.count) }

        /// Whether the policy of its name may take the event out: false for a replay, which has waited for room, and
        /// for a dead letter's event, because an operator was told that the event is accepted.
        fileprivate var isEvictable: Bool { !context.isReplay && !wasLetter }
    }

    package enum Entry: Sendable {
        case event(Waiting)
        case gap(Gap)
    }

    /// About how many bytes the frame of an event with this payload will be charged.
    package static func charge(forPayloadOf length: Int) -> Int {
        LinkLimits.charge(forFrameOf: length + headEstimate)
    }

    /// About how many bytes a head has: mostly enough for identifier, time, name number and cause.
    private static let headEstimate = 64

    private struct Node: Sendable {
        var entry: Entry
        var ticket: UInt64
        var key: Key?
        /// The row of a gap (see ``RowGap``); 0 for an event, and for a gap that has no row yet.
        var row: UInt64 = 0
        var previous: Int?
        var next: Int?
    }

    private struct Key: Hashable, Sendable {
        let name: EventName
        let value: [UInt8]
    }

    /// A gap's place: gaps without an event between them form a *row*, with at most one gap of each name and reason.
    private struct RowGap: Hashable, Sendable {
        let row: UInt64
        let name: EventName
        let reason: Gap.Reason

        init(_ gap: Gap, in row: UInt64) { (self.row, name, reason) = (row, EventName(gap.name), gap.reason) }
    }

    /// The places of one name's events, oldest first; a search skips places whose event has left.
    private struct Line: Sendable {
        var places: [(index: Int, ticket: UInt64)] = []
        var first = 0
        /// How many of the places still hold their event.
        var live = 0
        /// How many bytes these events are charged.
        var chargedBytes = 0
    }

    /// A linked list in an array, because entries leave from the middle as well.
    private var nodes: [Node?] = []
    private var free: [Int] = []
    private var head: Int?
    private var tail: Int?
    private var lines: [EventName: Line] = [:]
    private var keys: [Key: Int] = [:]
    /// The nodes of the gaps.
    ///
    /// A row may have as many gaps as peers have brought names, so this table finds a gap, not a walk through the row.
    private var gaps: [RowGap: Int] = [:]
    private var lastRow: UInt64 = 0
    private var lastTicket: UInt64 = 0
    /// The events that must not leave yet, in the order of their tickets, with their nodes.
    private var holds: [(ticket: UInt64, index: Int)] = []

    /// How many events wait.
    package private(set) var events = 0
    /// How many events and gaps wait.
    @usableFromInline package private(set) var count = 0
    /// How many gaps wait.
    package var gapCount: Int { count - events }
    /// How many bytes the events are charged.
    package private(set) var chargedBytes = 0

    package init() {}

    /// How many bytes of memory the queue takes besides the payloads' bytes: the nodes, the places in line, and the
    /// heads of the payloads' arrays.
    package var bookkeepingBytes: Int { count * (MemoryLayout<Node?>.stride + 48) }

    /// Whether nothing waits; inlined, because it is read for each event, and a call would copy the queue.
    @inlinable package var isEmpty: Bool { count == 0 }

    // MARK: - In

    /// The tickets of the events that must not leave yet, ascending.
    package var held: [UInt64] { holds.map(\.ticket) }

    /// Puts an event at the end.
    ///
    /// - Parameters:
    ///   - key: the encoded value of a field: a later event with the same name and value replaces this event.
    ///   - isHeld: whether the event stays until ``release(_:)``. Until then no policy takes it out: a journal may not
    ///     have recorded it yet, and has to hear of its end only afterwards.
    /// - Returns: The ticket of the event, for ``release(_:)``.
    package mutating func append(_ event: Waiting, key: [UInt8]? = nil, isHeld: Bool = false) -> UInt64 {
        lastTicket += 1
        let full = key.map { Key(name: EventName(event.name), value: $0) }
        let index = link(Node(entry: .event(event), ticket: lastTicket, key: full))
        if isHeld { holds.append((lastTicket, index)) } else { standInLine(index) }
        events += 1
        chargedBytes += event.charge
        return lastTicket
    }

    /// Puts a gap at the end, or merges it into a gap of the same name and reason in the row at the end.
    package mutating func append(_ gap: Gap) {
        if let row = row(of: tail), let like = gaps[RowGap(gap, in: row)] { return merge(gap, into: like) }
        lastTicket += 1
        stand(link(Node(entry: .gap(gap), ticket: lastTicket, key: nil)), inRowAs: gap)
    }

    /// Lets a held event leave.
    package mutating func release(_ ticket: UInt64) {
        guard let place = holds.firstIndex(where: { $0.ticket == ticket }) else { return }
        standInLine(holds.remove(at: place).index)
    }

    package mutating func releaseAll() {
        while !holds.isEmpty { standInLine(holds.removeFirst().index) }
    }

    // MARK: - Policies

    /// How many bytes the evictable events of a name are charged.
    package func chargedBytes(of name: String) -> Int { lines[EventName(name)]?.chargedBytes ?? 0 }

    /// How many bytes the event with this key is charged; nil if no event has the key.
    package func charge(ofEventNamed name: String, key: [UInt8]) -> Int? {
        guard let index = keys[Key(name: EventName(name), value: key)], case .event(let event) = nodes[index]?.entry
        else { return nil }
        return event.charge
    }

    /// Takes out the oldest evictable event of a name, and leaves a gap; nil if there is none.
    package mutating func dropOldest(of name: String) -> Waiting? {
        guard let index = oldest(of: name), let event = leave(index) else { return nil }
        let gap = Gap(event.context.id, name: name, reason: .policy)
        nodes[index]?.entry = .gap(gap)
        stand(index, inRowAs: gap)
        return event
    }

    /// Takes out the event with this key, which a later event replaces, and leaves no gap; nil if no event has the key.
    package mutating func supersede(name: String, key: [UInt8]) -> Waiting? {
        guard let index = keys[Key(name: EventName(name), value: key)], let event = leave(index) else { return nil }
        let (previous, next) = (nodes[index]?.previous, nodes[index]?.next)
        unlink(index)
        joinRows(previous, next)
        return event
    }

    // MARK: - Out

    /// The entry that leaves next; nil if it is held, or the queue is empty.
    package var first: Entry? {
        guard let head, let node = nodes[head], node.ticket < holds.first?.ticket ?? .max else { return nil }
        return node.entry
    }

    /// Whether the gaps at the front may leave together with the first event; false if no event waits, or the first is
    /// held.
    ///
    /// - Parameter hasWindow: whether the window lets out so many charged bytes; where it does not, the search ends.
    package func mayLeaveThroughFirstEvent(_ hasWindow: (Int) -> Bool) -> Bool {
        var charge = 0
        var next = head
        while let index = next, let node = nodes[index] {
            switch node.entry {
            case .gap:
                charge += LinkLimits.minimumCharge
                guard hasWindow(charge) else { return false }
            case .event(let event): return node.ticket < holds.first?.ticket ?? .max && hasWindow(charge + event.charge)
            }
            next = node.next
        }
        return false
    }

    package mutating func removeFirst() {
        guard let head else { return }
        _ = leave(head)
        unlink(head)
    }

    package func forEachEvent(_ body: (Waiting) -> Void) {
        var next = head
        while let index = next {
            if case .event(let event) = nodes[index]?.entry { body(event) }
            next = nodes[index]?.next
        }
    }

    // MARK: - Lines

    /// Lets policies take the event of a node out from now on.
    private mutating func standInLine(_ index: Int) {
        guard let node = nodes[index], case .event(let event) = node.entry else { return }
        if event.isEvictable { stand(index, node.ticket, inLineFor: event) }
        // An event that was released late does not take the place of a younger one.
        if let key = node.key, keys[key].flatMap({ nodes[$0]?.ticket }) ?? 0 < node.ticket { keys[key] = index }
    }

    private mutating func stand(_ index: Int, _ ticket: UInt64, inLineFor event: Waiting) {
        var line = lines.removeValue(forKey: EventName(event.name)) ?? Line()
        line.live += 1
        line.chargedBytes += event.charge
        // The places of events that have left are cleared away once they are many.
        if line.places.count >= 64, line.places.count >= line.live * 4 {
            line.places = line.places[line.first...].filter { nodes[$0.index]?.ticket == $0.ticket }
            line.first = 0
        }
        // Nearly always the end.
        var place = line.places.count
        while place > line.first, line.places[place - 1].ticket > ticket { place -= 1 }
        line.places.insert((index, ticket), at: place)
        lines[EventName(event.name)] = line
    }

    /// Takes the oldest event's place out of a name's line, and returns its node; the caller takes the event out.
    private mutating func oldest(of name: String) -> Int? {
        guard var line = lines.removeValue(forKey: EventName(name)) else { return nil }
        defer { lines[EventName(name)] = line }
        while line.first < line.places.count {
            let place = line.places[line.first]
            line.first += 1
            if nodes[place.index]?.ticket == place.ticket { return place.index }
        }
        return nil
    }

    // MARK: - Nodes

    /// Ends an event's wait; the caller changes or removes its node.
    private mutating func leave(_ index: Int) -> Waiting? {
        guard let node = nodes[index], case .event(let event) = node.entry else { return nil }
        if let key = node.key, keys[key] == index { keys[key] = nil }
        nodes[index]?.key = nil
        if event.isEvictable {
            lines[EventName(event.name)]?.live -= 1
            lines[EventName(event.name)]?.chargedBytes -= event.charge
            if lines[EventName(event.name)]?.live == 0 { lines[EventName(event.name)] = nil }
        }
        events -= 1
        chargedBytes -= event.charge
        return event
    }

    private mutating func link(_ node: Node) -> Int {
        var node = node
        node.previous = tail
        let index: Int
        if let unused = free.popLast() {
            index = unused
            nodes[index] = node
        } else {
            index = nodes.count
            nodes.append(node)
        }
        if let tail { nodes[tail]?.next = index } else { head = index }
        tail = index
        count += 1
        return index
    }

    private mutating func unlink(_ index: Int) {
        guard let node = nodes[index] else { return }
        if let previous = node.previous { nodes[previous]?.next = node.next } else { head = node.next }
        if let next = node.next { nodes[next]?.previous = node.previous } else { tail = node.previous }
        if case .gap(let gap) = node.entry, case let place = RowGap(gap, in: node.row), gaps[place] == index {
            gaps[place] = nil
        }
        nodes[index] = nil
        free.append(index)
        count -= 1
        if count == 0 {
            // A burst may have taken much memory: give it back.
            (nodes, free, lines, keys, gaps) = ([], [], [:], [:], [:])
        }
    }

    // MARK: - Rows of gaps

    /// The row of a node; nil for an event, for a gap that has no place in a row yet, and for no node.
    private func row(of index: Int?) -> UInt64? {
        guard let row = index.flatMap({ nodes[$0]?.row }), row > 0 else { return nil }
        return row
    }

    private mutating func merge(_ gap: Gap, into index: Int) {
        guard case .gap(var known) = nodes[index]?.entry else { return }
        known.merge(gap)
        nodes[index]?.entry = .gap(known)
    }

    /// Puts a gap, whose node is linked already, into the row beside it, or merges it into that row's gap of the same
    /// name and reason.
    private mutating func stand(_ index: Int, inRowAs gap: Gap) {
        joinRows(nodes[index]?.previous, nodes[index]?.next)
        guard let row = row(of: nodes[index]?.previous) ?? row(of: nodes[index]?.next) else {
            lastRow += 1
            return stand(index, as: gap, in: lastRow)
        }
        stand(index, as: gap, in: row)
    }

    private mutating func stand(_ index: Int, as gap: Gap, in row: UInt64) {
        let place = RowGap(gap, in: row)
        if let like = gaps[place] {
            merge(gap, into: like)
            unlink(index)
        } else {
            gaps[place] = index
            nodes[index]?.row = row
        }
    }

    /// Joins the row that ends with `left` and the row that begins with `right`, if both exist; the shorter row moves.
    ///
    /// So a gap seldom changes its row: each time, its row becomes at least twice as long.
    private mutating func joinRows(_ left: Int?, _ right: Int?) {
        guard let first = row(of: left), let second = row(of: right) else { return }
        var (before, after) = (left, right)
        while row(of: before) == first, row(of: after) == second {
            before = before.flatMap { nodes[$0]?.previous }
            after = after.flatMap { nodes[$0]?.next }
        }
        let isFirstLonger = row(of: before) == first
        let (shorter, longer) = isFirstLonger ? (second, first) : (first, second)
        var moving = isFirstLonger ? right : left
        while let index = moving, let node = nodes[index], node.row == shorter, case .gap(let gap) = node.entry {
            moving = isFirstLonger ? node.next : node.previous
            gaps[RowGap(gap, in: shorter)] = nil
            stand(index, as: gap, in: longer)
        }
    }
}

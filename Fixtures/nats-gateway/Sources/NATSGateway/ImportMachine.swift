/// Decides what becomes of the events of another node: a value that touches neither broker nor host nor clock.
///
/// The gateway reads the other node's stream with a durable consumer, whose acknowledged floor is the gateway's place
/// in the stream. After each start, reconnection or doubt it looks at the floor and makes a new consumer that begins
/// behind the floor. An old consumer would bring again, out of order, what it had sent to a process that is gone. A
/// message is acknowledged to the broker when the host has the event. One acknowledgement counts for all earlier
/// messages.
///
/// A broker that was restored may have other messages at the places that were read. So the gateway remembers the
/// identities of the last messages. If the last message is not at its place any more, the gateway searches for the
/// newest one that is, and goes on behind that one.
///
/// If the host knows the place of its last event, the first consumer begins behind that place instead of the floor. The
/// host may have more events than the broker knows of, or may have lost events that were acknowledged to the broker.
///
/// A host that keeps places, but none in this stream, may have lost the stream's first events before it had kept their
/// places. So each consumer says behind which place this holds, until the first of these events has been with the host
/// for some time. A gateway that begins meanwhile goes on behind that place instead of the floor.
struct ImportMachine<Event: Sendable>: Machine {
    private enum State {
        case disconnected
        /// Waits until the host has settled what it was given, before a look at the floor.
        case draining
        case looking
        /// Searches for the newest message that the stream still has at its place.
        case searching(Search)
        case making
        case reading
        /// Waits before it looks again.
        case pausing
        case ended
    }

    /// A message as it came.
    private struct Message {
        let sequence: UInt64
        let identity: String
    }

    /// A binary search for the first remembered message that the stream has no more: its index is from `low` to `high`.
    private struct Search {
        let look: ImportLook
        var low: Int
        var high: Int
        var middle: Int { (low + high) / 2 }
    }

    private struct Item {
        let sequence: UInt64
        let reply: String
        var isSettled: Bool
        /// Why it is no event, or why the host will never take it.
        var refusal: String?
    }

    static var timeOver: Input { .timeOver }

    /// After this time without a sign of life of the broker, the machine looks again.
    static var patience: Duration { .seconds(10) }
    /// How many identities of messages are kept at least; twice as many at most.
    static var rememberedMessages: Int { 1_024 }
    /// The time between two attempts while the stream cannot be read.
    static var pause: Duration { .milliseconds(500) }

    private var state = State.disconnected
    /// When the stream of `place` was made; nil before the first look.
    private var created: Int64?
    /// Another time of the stream, which a look has shown once, although the last message was at its place.
    private var doubtfulTime: Int64?
    /// All messages up to this place are settled.
    private var place: UInt64 = 0
    /// The consumer of this process; 0 before the first.
    private var consumer: UInt64 = 0
    private var consumerName = ""
    private var deliveries: UInt64 = 0
    /// The messages that are not yet acknowledged to the broker, in order: at most the consumer's window.
    private var items: ArraySlice<Item> = []
    /// The last messages that came, in order, without those that have no identity.
    private var remembered: [Message] = []
    /// The identities of messages that came, and that the stream then lost: their writer may send them again.
    private var lost: Set<String> = []
    /// Those that were lost before `lost` was full.
    private var lostEarlier: Set<String> = []
    /// Messages up to this place may have been given to the host before.
    private var repeatedUpTo: UInt64 = 0
    private var trouble: String?
    private var actions: [Action] = []
    private let node: Node
    private let keepsPlaces: Bool
    private var known: ImportPlaces.Place?
    private var isOvertaken = false
    /// Behind this place the host may not have kept any place; nil if it has, or keeps none.
    private var unkept: UInt64?
    private var isKeepingAwaited = false

    /// - Parameters:
    ///   - node: the node that reads.
    ///   - keepsPlaces: whether the host keeps the places of the events that it gets.
    ///   - known: the place of the last event that the host has; nil if the host does not say.
    init(node: Node, keepsPlaces: Bool = false, known: ImportPlaces.Place? = nil) {
        self.node = node
        self.keepsPlaces = keepsPlaces
        self.known = known
    }

    mutating func handle(_ input: Input) -> [Action] {
        // Enough for a message, in one piece of memory.
        actions.reserveCapacity(4)
        defer { actions.removeAll() }
        switch input {
        case .settled(let sequence, let refusal): settle(sequence, refusal)
        case .overtaken:
            known = nil
            isOvertaken = true
        case .connected: if !isEnded { begin() }
        case .disconnected:
            if !isEnded {
                state = .disconnected
                actions.append(.stopTimer)
            }
        case .looked(let look): if case .looking = state { decide(look) }
        case .lookFailed(let reason):
            switch state {
            case .looking, .searching: wait(reason)
            case .disconnected, .draining, .making, .reading, .pausing, .ended: break
            }
        case .identified(let identity): if case .searching(let search) = state { go(on: search, identity) }
        case .consumerMade: if case .making = state { read() }
        case .consumerNotMade(let reason): if case .making = state { wait(reason) }
        case .arrived(let place, let reply, let identity, let content): arrive(place, reply, identity, content)
        case .heartbeat(let deliveries): if case .reading = state { hear(deliveries) }
        case .placeKept(let created): if created == self.created, unkept != nil { endKeeping(created) }
        case .timeOver: timeOver()
        }
        return actions
    }

    private var isEnded: Bool { if case .ended = state { true } else { false } }

    // MARK: - A consumer behind the floor

    private mutating func begin() {
        actions.append(.stopTimer)
        if items.isEmpty {
            state = .looking
            actions.append(.look(message: remembered.last?.sequence ?? 0))
        } else {
            state = .draining
        }
    }

    private mutating func decide(_ look: ImportLook) {
        // Only processes of this node make such consumers: a consumer newer than this process's is another process's.
        let newest = look.consumers.max() ?? 0
        guard consumer == 0 || newest <= consumer else {
            state = .ended
            actions.append(.end("another gateway of this node reads the stream"))
            return
        }
        if let created, created != look.created, hasLastMessage(look) {
            guard doubtfulTime == look.created else {
                // While nats-server puts a stream back, it shows another time for a moment.
                doubtfulTime = look.created
                state = .pausing
                actions.append(.startTimer(Self.pause))
                return
            }
        } else if let created, created != look.created {
            actions.append(.report("the stream is another one than before: it is read from its beginning"))
            // Places say nothing of another stream, but this may still be the same stream.
            repeatedUpTo = hasLostLastMessage(look) ? 0 : max(repeatedUpTo, place)
            place = 0
            loseRemembered(from: 0)
        } else if created == nil {
            start(look)
        }
        // The place that the host has kept is one in a stream of another time.
        if created != nil, created != look.created, keepsPlaces {
            unkept = min(unkept ?? place, place)
            isKeepingAwaited = false
        }
        created = look.created
        doubtfulTime = nil
        guard let last = remembered.last else {
            if place > look.last {
                actions.append(.report("the stream went back from message \(place) to \(look.last)"))
                place = look.last
            }
            return make(look)
        }
        // A message that was removed since cannot be compared, and cannot be read again either.
        if place <= look.last, look.identity == nil || look.identity == last.identity { return make(look) }
        search(Search(look: look, low: 0, high: remembered.count))
    }

    /// The first look of this process, which says where it begins.
    private mutating func start(_ look: ImportLook) {
        place = look.floor
        // The host may also have events behind its known place, if its journal does not record them.
        repeatedUpTo = max(look.delivered, look.floor)
        if let known, known.created == look.created {
            place = known.sequence
        } else if keepsPlaces, isOvertaken, !look.consumers.isEmpty {
            // The gateway before this one has given the host all events up to the floor.
            unkept = look.unkept.map { min($0, place) }
        } else if keepsPlaces {
            if let unkept = look.unkept, unkept < place {
                place = unkept
                let reason = "the host has kept no place in the stream"
                actions.append(.report("\(reason): it is read again from message \(place + 1) on"))
            }
            unkept = place
        }
    }

    /// Whether the stream has the last message at its place, and so is the stream that was read.
    private func hasLastMessage(_ look: ImportLook) -> Bool {
        guard let last = remembered.last else { return false }
        return look.identity == last.identity
    }

    /// Whether the stream ends before the last message, or has another one at its place.
    private func hasLostLastMessage(_ look: ImportLook) -> Bool {
        guard let last = remembered.last else { return false }
        return look.last < last.sequence || look.identity.map { $0 != last.identity } ?? false
    }

    private mutating func search(_ search: Search) {
        var search = search
        // The stream has nothing beyond its end.
        while search.low < search.high, remembered[search.middle].sequence > search.look.last {
            search.high = search.middle
        }
        if search.low < search.high {
            state = .searching(search)
            actions.append(.identify(remembered[search.middle].sequence))
        } else {
            goBack(to: search.low, search.look)
        }
    }

    private mutating func go(on search: Search, _ identity: String?) {
        var search = search
        if identity == nil || identity == remembered[search.middle].identity {
            search.low = search.middle + 1
        } else {
            search.high = search.middle
        }
        self.search(search)
    }

    /// Goes on behind the last of the first `count` remembered messages; from the stream's beginning if `count` is 0.
    private mutating func goBack(to count: Int, _ look: ImportLook) {
        let what =
            place > look.last
            ? "went back from message \(place) to \(look.last)"
            : "went back and has grown again up to message \(look.last)"
        if count == 0 {
            // More messages came than are remembered.
            repeatedUpTo = max(repeatedUpTo, place)
            place = 0
        } else {
            let last = remembered[count - 1].sequence
            // Beyond its own place, this process does not know the identities of messages that an earlier process got.
            if repeatedUpTo <= place { repeatedUpTo = min(repeatedUpTo, last) }
            place = last
        }
        unkept = unkept.map { min($0, place) }
        loseRemembered(from: count)
        actions.append(.report("the stream \(what): it is read from message \(max(place + 1, look.first)) on"))
        make(look)
    }

    /// The stream has lost the remembered messages from this index on.
    private mutating func loseRemembered(from index: Int) {
        // A stream that is lost again and again must not fill the memory.
        if lost.count >= 2 * Self.rememberedMessages { (lostEarlier, lost) = (lost, []) }
        lost.formUnion(remembered[index...].map(\.identity))
        remembered.removeSubrange(index...)
    }

    private mutating func make(_ look: ImportLook) {
        if place > 0, place < look.first, place + 1 < look.first {
            actions.append(.report("messages \(place + 1) to \(look.first - 1) were removed before they were read"))
        }
        consumer = max(consumer, look.consumers.max() ?? 0) + 1
        state = .making
        actions.append(.makeConsumer(consumer, start: place + 1, unkept: unkept, removing: look.consumers))
    }

    private mutating func read() {
        consumerName = node.consumer(consumer)
        deliveries = 0
        state = .reading
        if let trouble {
            self.trouble = nil
            actions.append(.report("events are read again (\(trouble))"))
        }
        actions.append(.startTimer(Self.patience))
    }

    private mutating func wait(_ reason: String) {
        state = .pausing
        if trouble != reason {
            trouble = reason
            actions.append(.report("no events are read, because \(reason)"))
        }
        actions.append(.startTimer(Self.pause))
    }

    private mutating func timeOver() {
        switch state {
        case .pausing, .reading: begin()
        case .disconnected, .draining, .looking, .searching, .making, .ended: break
        }
    }

    // MARK: - Messages

    private mutating func arrive(
        _ place: ConsumerPlace,
        _ reply: String,
        _ identity: String,
        _ content: Content
    ) {
        // The broker may send a message before its answer that the consumer was made.
        if case .making = state, place.consumer == node.consumer(consumer) { read() }
        guard case .reading = state, place.consumer == consumerName else { return }
        let last = items.last?.sequence ?? self.place
        guard place.delivery == deliveries + 1, place.sequence > last else {
            begin()
            return
        }
        deliveries += 1
        actions.append(.startTimer(Self.patience))
        remember(Message(sequence: place.sequence, identity: identity))
        var item = Item(sequence: place.sequence, reply: reply, isSettled: true)
        switch content {
        case .event(let event):
            item.isSettled = false
            let mayBeRepeat =
                place.sequence <= repeatedUpTo || lost.contains(identity) || lostEarlier.contains(identity)
            actions.append(.publish(event, sequence: place.sequence, mayBeRepeat: mayBeRepeat))
        case .unwanted: break
        case .undecodable(let reason): item.refusal = reason
        }
        items.append(item)
        settleFirst()
    }

    private mutating func remember(_ message: Message) {
        guard !message.identity.isEmpty else { return }
        // Half of them go at once, so that the cost for each message is small.
        if remembered.count >= 2 * Self.rememberedMessages { remembered.removeFirst(Self.rememberedMessages) }
        remembered.append(message)
    }

    private mutating func hear(_ deliveries: UInt64) {
        // A message got lost on the way to this process.
        if deliveries > self.deliveries { begin() } else { actions.append(.startTimer(Self.patience)) }
    }

    private mutating func settle(_ sequence: UInt64, _ refusal: String?) {
        guard let index = items.firstIndex(where: { $0.sequence == sequence }) else { return }
        items[index].isSettled = true
        items[index].refusal = refusal
        if refusal == nil, unkept != nil, !isKeepingAwaited, let created {
            isKeepingAwaited = true
            actions.append(.awaitKeeping(created: created))
        }
        settleFirst()
        if items.isEmpty, case .draining = state { begin() }
    }

    /// From now on a gateway that begins knows the host's place, and the next consumer says nothing of it.
    private mutating func endKeeping(_ created: Int64) {
        // The broker may have the consumer already, which says that no place is kept.
        if case .making = state { return actions.append(.awaitKeeping(created: created)) }
        unkept = nil
        if case .reading = state { begin() }
    }

    /// Acknowledges the messages that are settled together with all before them.
    private mutating func settleFirst() {
        var reply: String?
        while let first = items.first, first.isSettled {
            items.removeFirst()
            place = first.sequence
            if let refusal = first.refusal {
                actions += [
                    .report("message \(first.sequence) is given up: \(refusal)"), .terminate(reply: first.reply),
                ]
                reply = nil
            } else {
                reply = first.reply
            }
        }
        if let reply { actions.append(.acknowledge(reply: reply)) }
    }
}

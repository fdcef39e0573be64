/// Decides what becomes of the events of another node: a value that touches neither broker nor host nor clock.
///
/// The gateway reads the other node's stream with a durable consumer, whose acknowledged floor is the gateway's place
/// in the stream. After each start, reconnection or doubt it looks at the floor and makes a new consumer that begins
/// behind it: an old one would bring again, out of order, what it had sent to a process that is gone. A message is
/// acknowledged to the broker when the host has the event. One acknowledgement counts for all messages before.
///
/// A broker that was restored may have other messages at the places that were read. So the gateway remembers the
/// identities of the last messages. If the last one is not at its place any more, it searches the newest that is, and
/// goes on behind that one.
///
/// If the host knows the place of its last event, the first look goes by that: the host may have more than the broker
/// knows, or may have lost what the broker was told.
struct ImportMachine<Event: Sendable>: Machine {
    enum Input: Sendable {
        /// Another process has read the stream since the host said how far it is: that place does not count.
        case overtaken
        case connected
        case disconnected
        case looked(ImportLook)
        /// There is no stream now, or it cannot be read, and why.
        case lookFailed(String)
        /// The identity of a message that was asked for; nil if there is none at that place.
        case identified(String?)
        case consumerMade
        case consumerNotMade(String)
        /// The identity is empty if the message has none.
        case arrived(ConsumerPlace, reply: String, identity: String, Content)
        /// The broker's sign of life, with the count of deliveries that it has made.
        case heartbeat(deliveries: UInt64)
        /// The host has the event, or will never take it, and why.
        case settled(sequence: UInt64, refusal: String?)
        case timeOver
    }

    enum Action: Sendable {
        /// Looks at the stream and its consumers, and at the message at this place; 0 for none.
        case look(message: UInt64)
        case identify(UInt64)
        /// Makes the consumer with this number, which begins with a place in the stream, and then removes others.
        case makeConsumer(UInt64, start: UInt64, removing: [UInt64])
        /// Gives the event to the host, behind those given before.
        case publish(Event, sequence: UInt64, mayBeRepeat: Bool)
        case acknowledge(reply: String)
        /// Tells the broker that the message can never be handled.
        case terminate(reply: String)
        /// Replaces the timer that runs.
        case startTimer(Duration)
        case stopTimer
        case report(String)
        /// Another gateway reads in the name of this node: this one must end.
        case end(String)
    }

    enum Content: Sendable {
        case event(Event)
        /// The host does not want it.
        case unwanted
        /// It is no event, and why.
        case undecodable(String)
    }

    private enum State {
        case disconnected
        /// Waits until the host has taken what it was given, before the floor is looked at.
        case draining
        case looking
        /// Searches the newest message that the stream still has at its place.
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

    /// The first of the remembered messages that the stream has no more is between two indices.
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

    /// A broker that has given no sign of life in this time is looked at again.
    static var patience: Duration { .seconds(10) }
    /// How many identities of messages are kept at least; twice as many at most.
    static var rememberedMessages: Int { 1_024 }
    /// Between two attempts while the stream cannot be read.
    static var pause: Duration { .milliseconds(500) }

    private var state = State.disconnected
    /// When the stream was made of which `place` speaks.
    private var created: Int64?
    /// All messages up to this place are settled.
    private var place: UInt64 = 0
    /// The consumer of this process; 0 before the first.
    private var consumer: UInt64 = 0
    private var consumerName = ""
    private var deliveries: UInt64 = 0
    /// What the broker has sent and does not know to be settled, in order: at most the consumer's window.
    private var items: ArraySlice<Item> = []
    /// The last messages that came, in order, without those that have no identity.
    private var remembered: [Message] = []
    /// Messages up to this place may have been given to the host before.
    private var repeatedUpTo: UInt64 = 0
    private var trouble: String?
    private var actions: [Action] = []
    private let node: Node
    private var known: ImportPlaces.Place?

    /// - Parameters:
    ///   - node: the node that reads.
    ///   - known: the place of the last event that the host has; nil if it does not say.
    init(node: Node, known: ImportPlaces.Place? = nil) {
        self.node = node
        self.known = known
    }

    mutating func handle(_ input: Input) -> [Action] {
        defer { actions.removeAll() }
        switch input {
        case .settled(let sequence, let refusal): settle(sequence, refusal)
        case .overtaken: known = nil
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
        // Only processes of this node make such consumers, and this is not of this process.
        let newest = look.consumers.max() ?? 0
        guard consumer == 0 || newest <= consumer else {
            state = .ended
            actions.append(.end("another gateway of this node reads the stream"))
            return
        }
        if let created, created != look.created {
            actions.append(.report("the stream is another one than before: it is read from its beginning"))
            place = 0
            remembered = []
        } else if created == nil {
            place = look.floor
            if let known, known.created == look.created { place = known.sequence }
            // Behind the place that the host knows it may have events that its journal does not record.
            repeatedUpTo = look.delivered
        }
        created = look.created
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

    private mutating func search(_ search: Search) {
        var search = search
        // What is beyond the stream's end is not there.
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

    /// Goes on behind the last of so many remembered messages; without any, from the stream's beginning.
    private mutating func goBack(to count: Int, _ look: ImportLook) {
        let what =
            place > look.last
            ? "went back from message \(place) to \(look.last)"
            : "went back and has grown again up to message \(look.last)"
        if count == 0 { repeatedUpTo = max(repeatedUpTo, place) }
        place = count > 0 ? remembered[count - 1].sequence : 0
        remembered.removeSubrange(count...)
        actions.append(.report("the stream \(what): it is read from message \(max(place + 1, look.first)) on"))
        make(look)
    }

    private mutating func make(_ look: ImportLook) {
        if place > 0, place < look.first, place + 1 < look.first {
            actions.append(.report("messages \(place + 1) to \(look.first - 1) were removed before they were read"))
        }
        consumer = max(consumer, look.consumers.max() ?? 0) + 1
        state = .making
        actions.append(.makeConsumer(consumer, start: place + 1, removing: look.consumers))
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
        // The broker may send before it answers that there is a consumer.
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
            let mayBeRepeat = place.sequence <= repeatedUpTo
            actions.append(.publish(event, sequence: place.sequence, mayBeRepeat: mayBeRepeat))
        case .unwanted: break
        case .undecodable(let reason): item.refusal = reason
        }
        items.append(item)
        settleFirst()
    }

    private mutating func remember(_ message: Message) {
        guard !message.identity.isEmpty else { return }
        // Half of them go at once, so that it costs nothing for each.
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
        settleFirst()
        if items.isEmpty, case .draining = state { begin() }
    }

    /// Acknowledges what is settled with all before it.
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

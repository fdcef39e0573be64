import Dispatch
import Synchronization

/// Carries the events of another node to the host's feed: performs the actions of an ``ImportMachine``.
final class Importer: Sendable {
    /// The acknowledgement that is due, for all messages that are settled.
    private struct Acknowledgement {
        /// The reply subject of the last of these messages.
        var reply: String?
        /// How many acknowledgements of the machine it replaces.
        var count = 0
        /// Whether the thread that brings messages will acknowledge in its next pause.
        var isLeftToPause = false
    }

    private let node: Node
    private let reader: Node
    /// The names of the wanted events, by their subjects.
    private let events: [String: String]
    private let window: Int
    private let keepingTime: Duration
    private let connection: NATSConnection
    private let feed: HostFeed
    private let report: @Sendable (GatewayReport) -> Void
    private let deliverySubject: String
    /// When the stream was made, according to the last look at it.
    private let created = Mutex<Int64>(0)
    private let acknowledgement = Mutex(Acknowledgement())
    /// Whether no look at the stream has failed yet.
    private let isAwaited = Mutex(true)
    private let machine: MachineQueue<ImportMachine<ImportedEvent>>

    init(
        node: Node,
        names: Set<String>,
        reader: Node,
        window: Int,
        keepingTime: Duration,
        connection: NATSConnection,
        messages: MessageReader,
        places: ImportPlaces?,
        feed: HostFeed,
        report: @escaping @Sendable (GatewayReport) -> Void
    ) {
        self.node = node
        self.reader = reader
        events = Dictionary(uniqueKeysWithValues: names.map { (node.subject(of: $0), $0) })
        self.window = window
        self.keepingTime = keepingTime
        self.connection = connection
        self.feed = feed
        self.report = report
        deliverySubject = "\(connection.inbox).\(node)"
        machine = MachineQueue(DispatchQueue(label: "nats-gateway.import.\(node)"))
        // All consumers of this process have one subject, because the broker takes no wildcard subscription for a
        // consumer's subscriber.
        messages.subscribe(
            to: deliverySubject,
            { [weak self] message in self?.receive(message) },
            pause: { [weak self] in self?.acknowledge(isPause: true) }
        )
        machine.start(ImportMachine(node: reader, keepsPlaces: places != nil, known: places?.known[node])) {
            self.perform($0)
        } finish: {
            self.acknowledge(isPause: false)
        }
    }

    private func receive(_ message: borrowing NATSMessage) {
        acknowledgement.withLock { $0.isLeftToPause = true }
        if let input = input(of: message) { machine.run(input) }
    }

    /// Tells the broker what is settled; behind a message, in the next pause only.
    ///
    /// So one acknowledgement serves for all messages that come together. And the thread that brought a lone message
    /// sleeps at once: the system often lets the host's thread wait on the same processor. After a quarter of the
    /// window the broker is told in any case, so that it never has to stop at a full window.
    private func acknowledge(isPause: Bool) {
        let reply = acknowledgement.withLock { kept -> String? in
            if isPause { kept.isLeftToPause = false }
            guard !kept.isLeftToPause || kept.count >= window / 4 else { return nil }
            kept.count = 0
            return kept.reply.take()
        }
        if let reply { answer(reply, "+ACK") }
    }

    /// Notes that the gateway before this one has read the stream since the host named its last place.
    func overtake() { machine.put(.overtaken) }

    func change(isConnected: Bool) { machine.put(isConnected ? .connected : .disconnected) }

    func stop() {
        machine.stop()
        acknowledge(isPause: true)
    }

    private func input(of message: borrowing NATSMessage) -> ImportMachine<ImportedEvent>.Input? {
        let reply = message.reply
        guard let place = ConsumerPlace(reply: reply) else {
            // Heartbeats have no place.
            return message.field("Nats-Last-Consumer").flatMap { UInt64($0) }.map { .heartbeat(deliveries: $0) }
        }
        let identity = message.field(EventHeaders.identityField) ?? ""
        let subject = message.subject
        guard let name = events[subject] else {
            guard node.event(of: subject) == nil else {
                return .arrived(place, reply: reply, identity: identity, .unwanted)
            }
            let mistake = "its subject \"\(subject.prefix(200))\" names no event of \(node)"
            return .arrived(place, reply: reply, identity: identity, .undecodable(mistake))
        }
        do throws(EventHeaders.Mistake) {
            let headers = try EventHeaders(event: name, reader: reader) { message.field($0) }
            let event = ImportedEvent(node: node, headers: headers, payload: message.payload)
            return .arrived(place, reply: reply, identity: identity, .event(event))
        } catch {
            let mistake = "\"\(subject)\": \(error.description)"
            return .arrived(place, reply: reply, identity: identity, .undecodable(mistake))
        }
    }

    private func perform(
        _ action: ImportMachine<ImportedEvent>.Action
    ) -> ActionOutcome<ImportMachine<ImportedEvent>.Input> {
        switch action {
        case .look(let message):
            do {
                let look = try connection.look(at: node, by: reader, message: message)
                created.withLock { $0 = look.created }
                return .input(.looked(look))
            } catch {
                // Looks are repeated for as long as they fail, but the feed waits for the first one only.
                let isFirst = isAwaited.withLock { isAwaited in
                    defer { isAwaited = false }
                    return isAwaited
                }
                if isFirst { feed.begin(node, behind: nil) }
                return .input(.lookFailed("the stream cannot be looked at: \(error)"))
            }
        case .identify(let message):
            do {
                return .input(.identified(try connection.identity(at: message, of: node)))
            } catch {
                return .input(.lookFailed("the stream cannot be looked at: \(error)"))
            }
        case .makeConsumer(let number, let start, let unkept, let earlier):
            feed.begin(node, behind: .init(created: created.withLock(\.self), sequence: start - 1))
            do {
                try connection.makeConsumer(
                    number,
                    of: reader,
                    at: node,
                    start: start,
                    unkept: unkept,
                    filter: filter,
                    window: window,
                    deliverTo: deliverySubject,
                    removing: earlier
                )
                return .input(.consumerMade)
            } catch {
                return .input(.consumerNotMade("no consumer can be made: \(error)"))
            }
        case .publish(var event, let sequence, let mayBeRepeat):
            event.mayBeRepeat = mayBeRepeat
            let place = ImportPlaces.Place(created: created.withLock(\.self), sequence: sequence)
            feed.give(event, from: place) { [machine] refusal in
                machine.put(.settled(sequence: sequence, refusal: refusal))
            }
        case .awaitKeeping(let created): machine.put(.placeKept(created: created), after: keepingTime)
        // An acknowledgement counts for all messages before it, so of several at once only the last one is sent.
        case .acknowledge(let reply):
            acknowledgement.withLock { kept in
                kept.reply = reply
                kept.count += 1
            }
        case .terminate(let reply): answer(reply, "+TERM")
        case .startTimer(let duration): return .timer(duration)
        case .stopTimer: return .timer(nil)
        case .report(let sentence): report(.note("\(node.stream): \(sentence)"))
        case .end(let reason): report(.again("\(node.stream): \(reason)"))
        }
        return .done
    }

    /// Answers a message; if that fails, the next acknowledgement or the next consumer's start makes up for it.
    private func answer(_ reply: String, _ text: String) {
        try? connection.publish(to: reply, text: text)
    }

    /// A broker before 2.10 filters by one subject at most, so for more names this gateway itself leaves out the rest.
    private var filter: String {
        if events.count == 1, let subject = events.keys.first { subject } else { node.subjects }
    }
}

import CNATS
import Dispatch
import Synchronization

/// Carries a node's events to its stream: performs the actions of an ``ExportMachine``.
final class Exporter: Sendable {
    private let node: Node
    private let connection: NATSConnection
    private let limits: NATSConnection.StreamLimits
    private let report: @Sendable (GatewayReport) -> Void
    private let machine: MachineQueue<ExportMachine<ExportedEvent>>
    /// The beginning of the subjects for the broker's answers; round and number follow.
    private let answers: String
    private let turn = Mutex(Turn())
    /// When the last call of ``export(_:)`` was done, in nanoseconds of the system's uptime.
    private let lastExport = Atomic<UInt64>(0)

    private struct Message {
        let event: ExportedEvent
        let predecessor: ExportMachine<ExportedEvent>.Predecessor
        let round: UInt64
        let number: UInt64
    }

    /// What the machine has published since ``finishTurn()`` was last called.
    private struct Turn {
        /// A message that the client does not have yet, because it may be the only one.
        var single: Message?
        /// Whether the client has messages that it may not have written.
        var isFlushDue = false
    }

    /// After a pause of this many nanoseconds an event is taken for a lone one.
    private static let pause: UInt64 = 1_000_000

    init(
        node: Node,
        connection: NATSConnection,
        limits: NATSConnection.StreamLimits,
        window: Int,
        report: @escaping @Sendable (GatewayReport) -> Void
    ) throws(NATSError) {
        self.node = node
        self.connection = connection
        self.limits = limits
        self.report = report
        machine = MachineQueue(DispatchQueue(label: "nats-gateway.export"))
        let prefix = "\(connection.inbox).stored."
        answers = prefix
        // `put` leaves the answer to the queue: more answers come while the queue wakes up, and the events for which
        // they make room are written together.
        try connection.subscribe(to: prefix + "*.*") { [machine] message in
            let parts = message.subject.utf8.dropFirst(prefix.utf8.count).split(separator: UInt8(ascii: "."))
            guard parts.count == 2, let round = UInt64(digits: parts[0]), let number = UInt64(digits: parts[1])
            else { return }
            let answer: PublishAnswer = message.isNoResponders ? .noStream : PublishAnswer(json: message.payload)
            machine.put(.answered(round: round, number: number, answer))
        }
        machine.start(ExportMachine(window: window)) {
            self.perform($0)
        } finish: {
            self.finishTurn()
        }
    }

    /// Exports an event; one call at a time.
    ///
    /// A lone event is sent on this thread, which waits for the broker's answer: so no other thread has to wake up.
    /// Events that come close together are left to the queue, which sends many of them at once.
    func export(_ event: ExportedEvent) {
        let input = ExportMachine<ExportedEvent>.Input.eventArrived(
            id: event.identity,
            isRepeat: event.isRepeat,
            event
        )
        let isLone = DispatchTime.now().uptimeNanoseconds &- lastExport.load(ordering: .relaxed) >= Self.pause
        if isLone { machine.run(input) } else { machine.put(input) }
        lastExport.store(DispatchTime.now().uptimeNanoseconds, ordering: .relaxed)
    }

    func change(isConnected: Bool) { machine.put(isConnected ? .connected : .disconnected) }

    func stop() { machine.stop() }

    private func perform(
        _ action: ExportMachine<ExportedEvent>.Action
    ) -> ActionOutcome<ExportMachine<ExportedEvent>.Input> {
        switch action {
        case .askForTail(let withRecent):
            // What was published before has to reach the broker before the question.
            publishSingle()
            do {
                return .input(.tailLearned(try connection.tail(of: node, withRecent: withRecent, limits: limits)))
            } catch {
                return .input(.tailUnknown("the stream cannot be looked at: \(error)"))
            }
        case .publish(let event, let predecessor, let round, let number, let isFirst):
            let message = Message(event: event, predecessor: predecessor, round: round, number: number)
            publishSingle()
            if isFirst { turn.withLock { $0.single = message } } else { publish(message) }
        case .acknowledge(let event): event.settle(nil)
        case .refuse(let event, let reason): event.settle(reason)
        case .startTimer(let duration): return .timer(duration)
        case .stopTimer: return .timer(nil)
        case .report(let sentence): report(.note("\(node.stream): \(sentence)"))
        case .end(let reason): report(.again("\(node.stream): \(reason)"))
        }
        return .done
    }

    /// Writes what was published.
    ///
    /// If there is only one message, and the broker owes no answer, the message leaves as a request. The client then
    /// writes it at once, without a `PING` and without its writing thread. Events that come before the answer leave
    /// together after it.
    private func finishTurn() {
        guard turn.withLock(\.isFlushDue) else {
            if let message = takeSingle() { request(message) }
            return
        }
        publishSingle()
        turn.withLock { $0.isFlushDue = false }
        connection.flush()
    }

    private func takeSingle() -> Message? { turn.withLock { $0.single.take() } }

    private func publishSingle() {
        if let message = takeSingle() { publish(message) }
    }

    private func publish(_ message: Message) {
        turn.withLock { $0.isFlushDue = true }
        let headers = message.event.headers()
        do {
            try connection.publish(
                to: node.subject(of: headers.name),
                reply: "\(answers)\(message.round).\(message.number)",
                headers: Self.fields(of: message, headers),
                message.event.payload
            )
        } catch {
            answered(message, PublishAnswer(error))
        }
    }

    private func request(_ message: Message) {
        let headers = message.event.headers()
        do {
            let answer = try connection.request(
                to: node.subject(of: headers.name),
                headers: Self.fields(of: message, headers),
                message.event.payload
            )
            // If no answer comes, the machine looks at the stream, once its patience is over or it is connected again.
            if let answer { answered(message, PublishAnswer(json: answer)) }
        } catch {
            answered(message, PublishAnswer(error))
        }
    }

    private func answered(_ message: Message, _ answer: PublishAnswer) {
        machine.put(.answered(round: message.round, number: message.number, answer))
    }

    private static func fields(of message: Message, _ headers: EventHeaders) -> [HeaderField] {
        var fields = headers.fields
        fields.append(HeaderField(name: EventHeaders.identityField, value: message.event.identity))
        let sequence = String(message.predecessor.sequence)
        fields.append(HeaderField(name: "Nats-Expected-Last-Sequence", value: sequence))
        if let identity = message.predecessor.identity {
            fields.append(HeaderField(name: "Nats-Expected-Last-Msg-Id", value: identity))
        }
        return fields
    }
}

extension PublishAnswer {
    /// The answer to a message that could not be sent, or that found no stream.
    fileprivate init(_ error: NATSError) {
        switch error.status {
        case NATS_MAX_PAYLOAD: self = .impossible("\(error)")
        case NATS_NO_RESPONDERS: self = .noStream
        default: self = .notNow("\(error)")
        }
    }

    fileprivate static var noStream: PublishAnswer { .notNow("the broker has no stream that takes them") }
}

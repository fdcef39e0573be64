import CNATS

/// Carries a node's events to its stream: a thread that does what an ``ExportMachine`` says.
final class Exporter: Sendable {
    private let node: Node
    private let connection: NATSConnection
    private let limits: NATSConnection.StreamLimits
    private let report: @Sendable (GatewayReport) -> Void
    private let thread = MachineThread<ExportMachine<ExportedEvent>>()

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
        // The answers to messages come to subjects that end with round and number.
        let prefix = "\(connection.inbox).stored."
        try connection.subscribe(to: prefix + "*.*") { [thread] message in
            let parts = message.subject.dropFirst(prefix.utf8.count).split(separator: ".").map { UInt64($0) }
            guard parts.count == 2, let round = parts[0], let number = parts[1] else { return }
            let answer: PublishAnswer =
                message.isNoResponders
                ? .notNow("the broker has no stream that takes them") : PublishAnswer(json: message.payload)
            thread.put(.answered(round: round, number: number, answer))
        }
        thread.start("nats-gateway.export", ExportMachine(window: window)) { self.perform($0) }
    }

    func export(_ event: ExportedEvent) {
        let id = EscapedName.text(of: event.headers.id)
        thread.put(.eventArrived(id: id, isRepeat: event.isRepeat, event))
    }

    func change(isConnected: Bool) { thread.put(isConnected ? .connected : .disconnected) }

    func stop() { thread.stop() }

    private func perform(
        _ action: ExportMachine<ExportedEvent>.Action
    ) -> ActionOutcome<ExportMachine<ExportedEvent>.Input> {
        switch action {
        case .askForTail(let withRecent):
            do {
                return .input(.tailLearned(try connection.tail(of: node, withRecent: withRecent, limits: limits)))
            } catch {
                return .input(.tailUnknown("the stream cannot be looked at: \(error)"))
            }
        case .publish(let event, let predecessor, let round, let number):
            return publish(event, predecessor, round, number)
        case .acknowledge(let event): event.settle(nil)
        case .refuse(let event, let reason): event.settle(reason)
        case .startTimer(let duration): return .timer(duration)
        case .stopTimer: return .timer(nil)
        case .report(let sentence): report(.note("\(node.stream): \(sentence)"))
        case .end(let reason): report(.again("\(node.stream): \(reason)"))
        }
        return .done
    }

    private func publish(
        _ event: ExportedEvent,
        _ predecessor: ExportMachine<ExportedEvent>.Predecessor,
        _ round: UInt64,
        _ number: UInt64
    ) -> ActionOutcome<ExportMachine<ExportedEvent>.Input> {
        let id = EscapedName.text(of: event.headers.id)
        var fields = event.headers.fields
        fields.append((EventHeaders.identityField, id))
        fields.append(("Nats-Expected-Last-Sequence", "\(predecessor.sequence)"))
        if let identity = predecessor.identity { fields.append(("Nats-Expected-Last-Msg-Id", identity)) }
        do {
            try connection.publish(
                to: node.subject(of: event.headers.name),
                reply: "\(connection.inbox).stored.\(round).\(number)",
                headers: fields,
                event.payload
            )
            return .done
        } catch {
            let answer: PublishAnswer =
                error.status == NATS_MAX_PAYLOAD ? .impossible("\(error)") : .notNow("\(error)")
            return .input(.answered(round: round, number: number, answer))
        }
    }
}

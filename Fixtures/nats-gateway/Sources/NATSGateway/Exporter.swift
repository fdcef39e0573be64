import CNATS
import Dispatch
import Synchronization

/// Carries a node's events to its stream: performs the actions of an ``ExportMachine``, on a queue.
final class Exporter: Sendable {
    private let node: Node
    private let connection: NATSConnection
    private let limits: NATSConnection.StreamLimits
    private let report: @Sendable (GatewayReport) -> Void
    private let machine: MachineQueue<ExportMachine<ExportedEvent>>
    /// The beginning of the subjects for the broker's answers; round and number follow.
    private let answers: String
    /// Whether a message was published, or could not be, since the last flush.
    private let hasPublished = Atomic<Bool>(false)

    /// - Parameter queue: where the events come from; it is blocked while a request waits for the broker.
    init(
        node: Node,
        connection: NATSConnection,
        limits: NATSConnection.StreamLimits,
        window: Int,
        queue: DispatchQueue,
        report: @escaping @Sendable (GatewayReport) -> Void
    ) throws(NATSError) {
        self.node = node
        self.connection = connection
        self.limits = limits
        self.report = report
        machine = MachineQueue(queue)
        let prefix = "\(connection.inbox).stored."
        answers = prefix
        // `put`, not `run`: answers come while the queue wakes up, and what they make room for is written together.
        try connection.subscribe(to: prefix + "*.*") { [machine] message in
            let parts = message.subject.utf8.dropFirst(prefix.utf8.count).split(separator: UInt8(ascii: "."))
            guard parts.count == 2, let round = UInt64(Substring(parts[0])), let number = UInt64(Substring(parts[1]))
            else { return }
            let answer: PublishAnswer =
                message.isNoResponders
                ? .notNow("the broker has no stream that takes them") : PublishAnswer(json: message.payload)
            machine.put(.answered(round: round, number: number, answer))
        }
        machine.start(ExportMachine(window: window)) {
            self.perform($0)
        } finish: {
            if self.hasPublished.exchange(false, ordering: .relaxed) { self.connection.flush() }
        }
    }

    func export(_ event: ExportedEvent) {
        machine.put(.eventArrived(id: event.identity, isRepeat: event.isRepeat, event))
    }

    func change(isConnected: Bool) { machine.put(isConnected ? .connected : .disconnected) }

    func stop() { machine.stop() }

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
        let headers = event.headers()
        var fields = headers.fields
        fields.append((EventHeaders.identityField, event.identity))
        fields.append(("Nats-Expected-Last-Sequence", "\(predecessor.sequence)"))
        if let identity = predecessor.identity { fields.append(("Nats-Expected-Last-Msg-Id", identity)) }
        hasPublished.store(true, ordering: .relaxed)
        do {
            try connection.publish(
                to: node.subject(of: headers.name),
                reply: "\(answers)\(round).\(number)",
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

import BridgeClient
import BridgePlatform
import DomainEvents
import EventRouting
import SupervisorConfiguration

/// `supervisor request`: publishes one event and waits for the event that it causes.
///
/// The command watches the passing events, as `supervisor tail` does, and finds the answer by its causes. It does not
/// know the types of the events, which only the workers have.
struct RequestCommand {
    let options: RequestOptions

    private enum Step: Sendable {
        case answered(AnswerWatch.Answer)
        case settled(Result<DeliveryReceipt, any Error>)
        case timeIsOver
        case hostLost(String)
    }

    func run(printing: (String) -> ProgramStatus) async throws(RunFailure) -> ProgramStatus {
        let event = try await EventArgument(name: options.name, json: options.json, command: .request).read()
        let steps = AsyncStream.makeStream(of: Step.self)
        let watch = AnswerWatch(for: options.answer, or: options.failure) { steps.continuation.yield(.answered($0)) }
        let publisher = EventPublisher(origin: "request")
        let lost = publisher.subscribe(to: HostLost.self) { steps.continuation.yield(.hostLost($0.reason)) }
        let client = try await HostConnection.attach(
            to: ControlPath.find(options.control),
            as: .request,
            publisher: publisher,
            watchedNames: watch.names,
            tap: watch.take,
            gapTap: watch.take
        )
        let context = publisher.makeContext(causedBy: nil)
        watch.begin(for: context.id)
        let limit = options.limit
        let delivering = Task {
            let result: Result<DeliveryReceipt, any Error>
            do {
                result = .success(
                    try await client.deliver(name: event.name, payload: event.payload, context: context, within: limit)
                )
            } catch {
                result = .failure(error)
            }
            steps.continuation.yield(.settled(result))
        }
        let clock = Task {
            try await Task.sleep(for: limit)
            steps.continuation.yield(.timeIsOver)
        }
        let outcome = await outcome(steps.stream, client, context.id, watch)
        clock.cancel()
        delivering.cancel()
        await client.close(drainingWithin: .zero)
        withExtendedLifetime(lost) {}
        let (line, status) = try outcome.get()
        let printed = printing(line)
        return status == .success ? printed : status
    }

    /// - Returns: The answer's line, and the exit status.
    private func outcome(
        _ steps: AsyncStream<Step>,
        _ client: BridgeClient,
        _ request: EventID,
        _ watch: AnswerWatch
    ) async -> Result<(line: String, status: ProgramStatus), RunFailure> {
        // In other processes, the event's id has the name that the host gave to this client.
        let id = client.idElsewhere(of: request) ?? request
        var fate = UnansweredRequest.Fate.unknown
        var isTimeOver = false
        for await step in steps {
            switch step {
            case .answered(let answer):
                let line = formatter.line(answer.event.withCauses(request, as: id))
                return .success((String(decoding: line, as: UTF8.self), answer.isFailure ? .failingAnswer : .success))
            case .settled(.success(let receipt)): fate = .handled(by: receipt.handlers.keys.sorted())
            case .settled(.failure(let error)):
                let known = client.namesWantedByHost
                switch (error as? DeliveryError)?.code {
                case .timedOut:
                    isTimeOver = true
                    fate = (error as? DeliveryError)?.progress.map { .underWay($0) } ?? .unsent
                // A worker that does not say what it handles may answer all the same.
                case .noSubscriber where known.contains { $0.hasBytes(of: options.name) }: fate = .unconfirmed
                default:
                    let failure = PublishFailure(
                        error,
                        of: options.name,
                        among: known,
                        idElsewhere: client.idElsewhere
                    )
                    return .failure(failure.asRunFailure)
                }
            case .hostLost(let reason):
                let sentence = "\(reason); whether \(options.name) \(id) was handled is not known"
                return .failure(failure(.workerUnavailable, sentence))
            case .timeIsOver:
                isTimeOver = true
                // The delivery has the same time limit, and its own timeout says how far the event has come.
                if fate == .unknown { continue }
            }
            if isTimeOver {
                let unanswered = UnansweredRequest(
                    name: options.name,
                    id: "\(id)",
                    answers: [options.answer] + (options.failure.map { [$0] } ?? []),
                    limit: options.limit,
                    fate: fate,
                    omens: watch.omens
                )
                return .failure(failure(.unhandledEvents, unanswered.sentence))
            }
        }
        return .failure(failure(.system, "the wait for an answer was broken off"))
    }

    private func failure(_ status: ProgramStatus, _ sentence: String) -> RunFailure {
        RunFailure(status: status, description: "supervisor: \(TerminalText.harmless(sentence))")
    }

    private var formatter: any EventFormatter {
        options.isJSON ? CloudEventFormatter() : TextFormatter.onStandardOutput(origins: [], names: [])
    }
}

extension PrintedEvent {
    /// The same event, with `other` in place of `cause` as its cause or root.
    fileprivate func withCauses(_ cause: EventID, as other: EventID) -> PrintedEvent {
        let context = EventContext(
            id: context.id,
            nanosecondsSinceEpoch: context.nanosecondsSinceEpoch,
            attempt: context.attempt,
            cause: context.cause == cause ? other : context.cause,
            root: context.root == cause ? other : context.root,
            traceparent: context.traceparent
        )
        return PrintedEvent(name: name, context: context, sender: sender, content: content)
    }
}

import BridgeClient
import BridgeControl
import DomainEvents
import EventBridge
import EventRouting
import JSONText
import Supervision
import SupervisorConfiguration

/// Reports on the workers' lives, on the lines that they print, and on events that were refused or dropped.
struct WorkerReporter: Sendable {
    /// The bridge's reports about itself, and its commands: `supervisor run` prints them as sentences or not at all,
    /// never as events.
    static let reports = ControlEventNames.commands.union(ControlEventNames.answers)
        .union(HostEventNames.reports).union(EventNames.ofReports)
        .union(EventName.set([HostLost.eventName, HostRegained.eventName]))

    /// The codes of refusals because of the event itself: it does not decode, or is invalid.
    private static let fieldCodes: ClosedRange<UInt64> = 1...2

    /// How ``WorkerExited/next`` begins for a worker that is given up.
    private static let givingUp = "gave up"

    /// The reports at which ``statesChanged`` is called.
    private static let reportsOfStates: Set = [
        WorkerReady.eventName, WorkerExited.eventName, WorkerGaveUp.eventName, BridgeEnding.eventName,
    ]

    /// How ``WorkerExited/next`` begins for a worker that is started again.
    private static let backingOff = "backing off"

    let diagnostics: Diagnostics
    let outcome: RunOutcome
    let lines: InputLines
    let inputName: String
    /// Whether a worker of this name only watches, so the events that it misses count for nothing.
    let isOnlooker: @Sendable (String) -> Bool
    /// The present states of the workers.
    let states: @Sendable () -> [ChildStatus]
    /// Called at each report in `reportsOfStates`, and when such a report was dropped.
    let statesChanged: @Sendable () -> Void
    /// Called for a line of the input whose event a worker has refused because of the event itself.
    let inputRefused: @Sendable () -> Void

    /// Subscribes to the reports; they are handled until the subscriptions are released.
    func subscribe(to publisher: EventPublisher) -> [Subscription] {
        let source = publisher.source
        let host = source.origin
        // A worker may publish events with these names itself; they are no reports of the bridge.
        @Sendable func isOurs() -> Bool { EventContext.current?.id.origin == host }
        return [
            publisher.subscribe(to: WorkerReady.self) { if isOurs() { ready($0) } },
            publisher.subscribe(to: WorkerExited.self) { if isOurs() { exited($0) } },
            publisher.subscribe(to: WorkerGaveUp.self) { if isOurs() { gaveUp($0) } },
            publisher.subscribe(to: WorkerUnresponsive.self) { if isOurs() { unresponsive($0) } },
            publisher.subscribe(to: BridgeEnding.self) { if isOurs() { ending($0) } },
            publisher.subscribe(to: EventsLost.self) { if isOurs() { lost($0) } },
            publisher.subscribe(to: WorkerOutput.self) { if isOurs() { diagnostics.pass($0.line, of: $0.worker) } },
            publisher.subscribe(to: WorkerLeftBehind.self) { if isOurs() { leftBehind($0) } },
            publisher.subscribe(to: WorkerBoxIncomplete.self) { if isOurs() { boxIncomplete($0) } },
            publisher.subscribe(to: WorkerOutputDropped.self) { if isOurs() { dropped($0) } },
            publisher.subscribe(to: EventDeadLettered.self) { if isOurs() { deadLettered($0) } },
            publisher.subscribe(to: EventKeyMissing.self) { if isOurs() { keyMissing($0) } },
            publisher.subscribe(to: DeadLettersFull.self) { if isOurs() { full($0) } },
            publisher.subscribe(to: ClientAttached.self) { if isOurs() { attached($0) } },
            publisher.subscribe(to: ClientDetached.self) { if isOurs() { detached($0) } },
            publisher.subscribe(to: ControlSocketReported.self) { if isOurs() { diagnostics.sayIfRoom($0.text) } },
            publisher.subscribe(to: EventRefused.self) { refused($0, reporter: Self.reporter(besides: host), source) },
            publisher.subscribe(to: EventsDropped.self) { dropped($0, reporter: Self.reporter(besides: host), host) },
            publisher.subscribe(to: HandlerFailed.self) { handlerFailed($0, reporter: Self.reporter(besides: host)) },
        ]
    }

    /// The worker or client whose report is being handled; nil if the report is the bridge's own.
    private static func reporter(besides host: String) -> String? {
        guard let origin = EventContext.current?.id.origin, origin != host else { return nil }
        return origin
    }

    // MARK: - Workers

    private func ready(_ event: WorkerReady) {
        outcome.workerBecameReady(event.worker)
        let again = event.start > 1 ? ", start \(event.start)" : ""
        diagnostics.say("worker \"\(event.worker)\" is ready (process \(event.pid)\(again))", .information)
        statesChanged()
    }

    private func exited(_ event: WorkerExited) {
        let usage = event.usage.map { "; \($0)" } ?? ""
        let process = event.pid.map { " (process \($0)\(usage))" } ?? ""
        if !event.wasAsked, event.next == ChildState.stopped.description { outcome.workerStaysDown(event.worker) }
        let worker = "worker \"\(event.worker)\"\(process)"
        if event.wasAsked, event.next == ChildState.dormant.description {
            diagnostics.say(
                "\(worker) had nothing to do and was stopped; the next event for it starts it",
                .information
            )
        } else if event.wasAsked {
            // A worker that had to be killed has not stopped as it was asked to.
            let isKilled = event.exit?.signal != nil
            diagnostics.say(
                "\(worker) \(event.reason)\(isKilled ? " while it was being stopped" : ", as it was asked to")",
                isKilled ? .warning : .information
            )
        } else if !event.next.hasPrefix(Self.givingUp) {
            diagnostics.say("\(worker) \(what(event)); \(next(event))", .warning)
        } else if !event.next.hasSuffix(event.reason) {
            // The sentence about giving up follows, but does not state why this process ended.
            diagnostics.say("\(worker) \(what(event))", .warning)
        }
        if let outbox = event.outbox { left(outbox, by: event.worker) }
        statesChanged()
    }

    /// The reason for the exit; for status 0 with the word "unasked", since that status alone does not look wrong.
    private func what(_ event: WorkerExited) -> String {
        event.exit?.status == 0 && event.reason.hasPrefix("exited") ? "\(event.reason), unasked" : event.reason
    }

    /// The supervisor's next step for the worker, in words.
    private func next(_ event: WorkerExited) -> String {
        guard event.next.hasPrefix(Self.backingOff) else { return event.next }
        return "it is started again after a pause\(event.next.dropFirst(Self.backingOff.count))"
    }

    private func left(_ outbox: WorkerExited.Outbox, by worker: String) {
        var parts: [String] = []
        if outbox.delivered > 0 {
            parts.append("\(outbox.delivered) published events that it had not sent, now delivered")
        }
        if outbox.isTorn { parts.append("an event that it was publishing, dropped") }
        if !outbox.suspects.isEmpty { parts.append("unfinished events: \(outbox.suspects.joined(separator: ", "))") }
        guard !parts.isEmpty else { return }
        diagnostics.say("worker \"\(worker)\" left \(parts.joined(separator: "; "))", .warning)
    }

    private func lost(_ event: EventsLost) {
        // The run can no longer claim that every event was handled.
        outcome.eventsWereNotHandled()
        let what =
            switch event.count {
            case 1?: "has lost 1 event"
            case let count?: "has lost \(count) events"
            case nil: "may have lost events"
            }
        let arrived = event.after == 1 ? "1 had arrived" : "\(event.after) had arrived"
        diagnostics.say(
            "worker \"\(event.worker)\" \(what) that it had published (\(arrived) before): \(event.reason)",
            .error
        )
    }

    private func gaveUp(_ event: WorkerGaveUp) {
        sayGivenUp(event.worker, event.reason)
        statesChanged()
    }

    private func sayGivenUp(_ worker: String, _ reason: String) {
        diagnostics.say("worker \"\(worker)\" was given up: \(reason)", .error)
        outcome.workerWasGivenUp(worker)
    }

    private func unresponsive(_ event: WorkerUnresponsive) {
        let silence = Duration.milliseconds(Int64(clamping: event.silentMilliseconds))
        let what = event.busyWith.map { "; it was handling \($0)" } ?? ""
        diagnostics.say(
            """
            worker "\(event.worker)" (process \(event.pid)) has given no sign of life for \(DurationText.text(silence)), and is ended by \
            SIGABRT\(what)
            """,
            .warning
        )
    }

    private func ending(_ event: BridgeEnding) {
        diagnostics.say("stopping all workers: the significant worker \"\(event.worker)\" has ended")
        // No other report may follow: if the worker was the last one, the report of its end came before this one.
        statesChanged()
    }

    private func boxIncomplete(_ event: WorkerBoxIncomplete) {
        for part in event.missing {
            diagnostics.say(
                "worker \"\(event.worker)\" (process \(event.pid)) runs without a part of its box: \(part)",
                .warning
            )
        }
    }

    private func dropped(_ event: WorkerOutputDropped) {
        let lines = event.lines == 1 ? "1 line" : "\(event.lines) lines"
        diagnostics.sayIfRoom(
            "worker \"\(event.worker)\" prints more than is shown: \(lines) (\(event.bytes) bytes) left out; it goes on unhindered",
            .warning
        )
    }

    private func leftBehind(_ event: WorkerLeftBehind) {
        for process in event.processes {
            diagnostics.say(
                """
                worker "\(event.worker)" (process \(event.pid)) had left process \(process.pid) behind (\(process.command)), \
                which was killed
                """,
                .warning
            )
        }
    }

    // MARK: - Clients

    private func attached(_ event: ClientAttached) {
        diagnostics.sayIfRoom("\(event.client) \(ShownValue.text(event.title)) (process \(event.pid)) has attached")
    }

    private func detached(_ event: ClientDetached) {
        diagnostics.sayIfRoom("\(event.client) \(ShownValue.text(event.title)) \(event.reason)")
    }

    // MARK: - Events

    private func refused(_ event: EventRefused, reporter: String?, _ source: EventSource) {
        let refuser = reporter == nil ? event.worker : "the supervisor"
        let line = reporter == nil ? inputLine(of: event.id, source) : nil
        // What a client refuses counts neither as unhandled nor against the input: the run does not depend on clients.
        let counts = reporter != nil || !Self.isClient(event.worker)
        guard let line else {
            if counts { outcome.eventsWereNotHandled() }
            let from = reporter.map { " of \($0)" } ?? ""
            diagnostics.sayOfEvent("\(refuser) refused \(event.event)\(from) (\(event.id)): \(event.reason)")
            return
        }
        diagnostics.sayAt("\(inputName):\(line): \(refuser) refused \(event.event): \(event.reason)")
        guard counts else { return }
        if Self.fieldCodes.contains(event.code) { inputRefused() } else { outcome.eventsWereNotHandled() }
    }

    /// The line of the input from which this run has published the event; nil for any other event.
    private func inputLine(of id: String, _ source: EventSource) -> Int? {
        guard let number = id.split(separator: "-").last.flatMap({ UInt64($0) }),
            // The id has another incarnation if the event comes from an earlier run (a journal brings it again) or from
            // another machine, and another origin if it is a worker's event.
            id == EventID(source: source, number: number).description
        else { return nil }
        return lines.line(of: number)
    }

    /// Whether this is the name of a client, attached now or earlier: a configuration gives no worker such a name.
    private static func isClient(_ name: String) -> Bool { SupervisorConfiguration.isClientName(name) }

    private func deadLettered(_ event: EventDeadLettered) {
        let why: String
        switch event.cause {
        case .refused:
            // The refusal was reported before; that report also decides on the exit status.
            return
        case .crashes:
            let crashes = event.reasons.count == 1 ? "1 crash" : "\(event.reasons.count) crashes"
            why = "after \(crashes) over it: \(event.reasons.joined(separator: "; "))"
        case .workerUnavailable:
            why = "as " + event.reasons.joined(separator: "; ")
        }
        outcome.eventsWereNotHandled()
        diagnostics.sayOfEvent(
            "\(event.event) (\(event.id)) for worker \"\(event.worker)\" is put aside as dead letter \(event.letter) \(why)"
        )
    }

    private func full(_ event: DeadLettersFull) {
        outcome.eventsWereNotHandled()
        diagnostics.sayOfEvent(
            """
            worker "\(event.worker)" gets no more events: \(event.letters) dead letters (\(event.bytes) bytes) are as many as \
            can be kept
            """
        )
    }

    private func keyMissing(_ event: EventKeyMissing) {
        diagnostics.say(
            """
            \(event.event) came without its key for the pool "\(event.worker)": events without one all go to "\(event.member)"
            """,
            .warning
        )
    }

    private func dropped(_ event: EventsDropped, reporter: String?, _ host: String) {
        guard !isOnlooker(event.link) else { return }
        outcome.eventsWereNotHandled()
        let place = reporter.map { "in \($0), " } ?? ""
        let events = event.count == 1 ? "1 event" : "\(event.count) events"
        diagnostics.sayOfEvent("\(place)\(events) \(event.event) for \(event.link) dropped: \(event.reason)")
        if reporter == nil, event.link == host { missed(event.event) }
    }

    /// Makes up for a dropped report of the bridge, so that the run's end does not wait for that report.
    private func missed(_ report: String) {
        if report == WorkerGaveUp.eventName {
            for worker in states() where !outcome.isToldGivenUp(worker.name) {
                if case .gaveUp(let reason) = worker.state { sayGivenUp(worker.name, reason) }
            }
        }
        if Self.reportsOfStates.contains(report) { statesChanged() }
    }

    private func handlerFailed(_ event: HandlerFailed, reporter: String?) {
        // As for refusals: what fails in a client does not count.
        if !(reporter.map(Self.isClient) ?? false) { outcome.eventsWereNotHandled() }
        diagnostics.sayOfEvent(
            """
            the handler at \(event.handler) in \(reporter ?? "the supervisor") failed on \(event.event) (\(event.id)): \
            \(event.error)
            """
        )
    }
}

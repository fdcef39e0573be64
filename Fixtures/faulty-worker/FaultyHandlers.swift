import BridgePlatform
import DomainEvents
import ExampleDomain
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Handlers that go wrong in a worker whose link is in order.
enum FaultyHandlers {
    /// What `throw-on` throws.
    private struct HandlerRefuses: Error, CustomStringConvertible {
        let description: String
    }

    static func subscribe(_ misbehaviour: Misbehaviour, _ publisher: EventPublisher) -> [Subscription] {
        if case .crashBeside(on: let text) = misbehaviour { return crashBeside(text, publisher) }
        return [
            publisher.subscribe(to: WorkRequested.self) { event in
                if Burst.isMeant(by: misbehaviour) { return Burst.run(misbehaviour, event, publisher) }
                try misbehave(misbehaviour, over: event, publisher)
                let attempt = EventContext.current?.attempt ?? 1
                let text = misbehaviour == .reach ? Reach.attempt(event.text) : event.text
                publisher.publish(WorkDone(number: event.number, text: text, attempt: attempt))
            }
        ]
    }

    /// One handler answers in a task and the other crashes inline, so that the first can have an event open when the
    /// second crashes.
    private static func crashBeside(_ text: String, _ publisher: EventPublisher) -> [Subscription] {
        [
            publisher.subscribe(to: WorkRequested.self) { event async in
                guard event.text != text else { return }
                let attempt = EventContext.current?.attempt ?? 1
                if event.text == "waits" {
                    // On later attempts, the wait is just long enough for another event to come in between, if one
                    // could.
                    try? await Task.sleep(for: attempt == 1 ? .seconds(3_600) : .milliseconds(100))
                }
                publisher.publish(WorkDone(number: event.number, text: event.text, attempt: attempt))
            },
            publisher.subscribe(to: WorkRequested.self) { if $0.text == text { Crash.now() } },
        ]
    }

    private static func misbehave(
        _ misbehaviour: Misbehaviour,
        over event: WorkRequested,
        _ publisher: EventPublisher
    ) throws {
        func isMeant(_ pattern: String) -> Bool {
            pattern == WorkRequested.eventName || pattern == event.text
        }
        switch misbehaviour {
        case .hang: hang()
        case .hangOn(let pattern) where isMeant(pattern): hang()
        case .hangOnceOn(let pattern) where isMeant(pattern):
            if EventContext.current?.attempt == 1 { hang() }
        case .spin: spin()
        case .slow(let milliseconds): usleep(milliseconds.multipliedReportingOverflow(by: 1000).partialValue)
        case .flood: flood(event, publisher)
        case .allocate: Reach.allocate()
        case .exceedFileSize: Crash.exceedFileSize()
        case .floodOutput: floodOutput(lines: event.number)
        case .crash(on: let pattern) where isMeant(pattern): Crash.now()
        case .crashOnce(on: let pattern) where isMeant(pattern):
            if EventContext.current?.attempt == 1 { Crash.now() }
        case .trap(on: let pattern) where isMeant(pattern): Crash.trap(event.text)
        case .crashUnless(let path):
            if access(path, F_OK) != 0 { Crash.now() }
        case .exit(on: let pattern) where isMeant(pattern): exit(0)
        case .misconfigured(on: let pattern) where isMeant(pattern): exit(78)
        case .violate(on: let pattern) where isMeant(pattern): WrongFrame.write()
        case .fail(on: let pattern) where isMeant(pattern):
            throw HandlerRefuses(description: "work \(event.number) (\"\(event.text)\") is refused on purpose")
        default: return
        }
    }

    private static func hang() -> Never {
        while true { pause() }
    }

    private static func spin() -> Never {
        let turns = Atomic<UInt>(0)
        while true { turns.wrappingAdd(1, ordering: .relaxed) }
    }

    /// Publishes all events but the last one, which the handler publishes anyway.
    private static func flood(_ event: WorkRequested, _ publisher: EventPublisher) {
        guard event.number > 1 else { return }
        for number in 1..<event.number {
            publisher.publish(WorkDone(number: number, text: event.text, attempt: 1))
        }
    }

    private static func floodOutput(lines: Int64) {
        guard lines > 0 else { return }
        let line = Array(
            "a line that nothing has asked for, as long as lines in a terminal usually are, more or less\n".utf8
        )
        for _ in 0..<lines {
            for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
                // A reader that has gone is no reason to stop.
                _ = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            }
        }
    }
}

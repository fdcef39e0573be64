import BridgePlatform
import DomainEvents

/// W1: one event to the worker, one reply back; the reply's handler sends the next event on the delivering thread.
enum RoundTripWork {
    private static let mostWarmUp: Int64 = 2_000

    /// - Parameter isCrowded: whether each end has three subscribers, and another worker is slow.
    static func run(_ name: String, _ form: EventForm, isCrowded: Bool = false, count: Int64) async throws {
        let trips = try await trips(form, isCrowded: isCrowded, count: count)
        Report.roundTrips(name, peer: form.peer, trips.nanoseconds, total: trips.total)
    }

    /// - Parameter journalPath: the directory of the host's journal, which records both events; nil for no journal.
    static func trips(
        _ form: EventForm,
        isCrowded: Bool = false,
        journalPath: String? = nil,
        count: Int64
    ) async throws -> Trips {
        let trips = Trips(count: Int(count), warmUp: min(mostWarmUp, count))
        switch form {
        case .codable:
            try await measure(BenchmarkEvent.self, BenchmarkReply.self, form, isCrowded, journalPath, trips)
        case .layout:
            try await measure(
                BenchmarkLaidOutEvent.self,
                BenchmarkLaidOutReply.self,
                form,
                isCrowded,
                journalPath,
                trips
            )
        }
        return trips
    }

    private static func measure<Event: TitledEvent, Reply: TitledEvent>(
        _ event: Event.Type,
        _ reply: Reply.Type,
        _ form: EventForm,
        _ isCrowded: Bool,
        _ journalPath: String?,
        _ trips: Trips
    ) async throws {
        var design = BenchmarkBridge()
        let others = isCrowded ? 2 : 0
        design.add("benchmark", ["W1", form.rawValue, "\(others)"], subscribes: [Event.self])
        if isCrowded { design.addSlowLink() }
        if let journalPath { try design.addJournal(at: journalPath, recording: [event, reply]) }
        let publisher = design.publisher
        let done = Finish()
        var subscriptions = (0..<others).map { _ in publisher.subscribe(to: Reply.self) { $0.checkTitle() } }
        subscriptions.append(
            publisher.subscribe(to: Reply.self) { reply in
                let now = MonotonicClock.now()
                reply.checkTitle()
                if trips.returned(reply.id, at: now) {
                    done.finish()
                    return
                }
                let next = reply.id + 1
                trips.begin(MonotonicClock.now())
                publisher.publish(Event(next))
            }
        )
        let bridge = try await design.start()
        trips.begin(MonotonicClock.now())
        publisher.publish(Event(0))
        await done.wait()
        await design.stop(bridge, recorded: 2 * trips.ended)
        withExtendedLifetime(subscriptions) {}
    }

    /// The worker's part: answers each event with its own fields.
    static func answer(_ form: EventForm, others: Int, _ publisher: EventPublisher) -> [Subscription] {
        switch form {
        case .codable: answer(BenchmarkEvent.self, BenchmarkReply.self, others, publisher)
        case .layout: answer(BenchmarkLaidOutEvent.self, BenchmarkLaidOutReply.self, others, publisher)
        }
    }

    private static func answer<Event: TitledEvent, Reply: TitledEvent>(
        _ event: Event.Type,
        _ reply: Reply.Type,
        _ others: Int,
        _ publisher: EventPublisher
    ) -> [Subscription] {
        (0..<others).map { _ in publisher.subscribe(to: Event.self) { $0.checkTitle() } } + [
            publisher.subscribe(to: Event.self) { event in
                publisher.publish(Reply(id: event.id, title: event.title))
            }
        ]
    }
}

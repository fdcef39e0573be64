import BridgeControl
import BridgeProtocol
import DomainEvents
import EventRouting

/// The checked events of a command that sends them to one worker again.
struct ReplayBatch: Sendable {
    /// What is wrong with a command.
    struct Mistake: Error {
        let sentence: String

        init(_ sentence: String) { self.sentence = sentence }
    }

    struct Event: Sendable {
        let name: String
        let context: EventContext
        let payload: [UInt8]
    }

    let events: [Event]
    let peer: Peer
    /// The index of the worker among all workers of the host.
    let index: Int
    /// The identity of the command, which names the process that gave it; nil if that is not known.
    let requester: EventID?
    /// Whether the requester's replay to the worker goes on after these events.
    let hasMore: Bool

    init(_ command: EventsReplayRequested, to peer: Peer, at index: Int, for requester: EventID?) throws(Mistake) {
        let events = command.events
        let bytes = events.reduce(0) { $0 + $1.payload.count }
        guard events.count <= EventsReplayRequested.mostEvents,
            events.count <= 1 || bytes <= EventsReplayRequested.mostBytes
        else {
            throw Mistake(
                """
                found \(events.count) events of \(bytes) bytes, expected at most \(EventsReplayRequested.mostEvents) events \
                and \(EventsReplayRequested.mostBytes) bytes in one command
                """
            )
        }
        // All events of a source share one object, as the outboxes compare sources by their addresses.
        var sources: [EventSource: EventSource] = [:]
        var checked: [Event] = []
        var known: Set<EventID> = []
        for event in events {
            let context = try Self.context(of: event, &sources)
            // Outcomes are reported under the events' identities, so no identity may occur twice in a command.
            guard known.insert(context.id).inserted else {
                throw Mistake("\(event.event) \(event.id.shortened()) is in the command twice")
            }
            checked.append(Event(name: event.event, context: context, payload: event.payload))
        }
        (self.events, self.peer, self.index, self.requester) = (checked, peer, index, requester)
        hasMore = command.hasMore ?? false
    }

    private static func context(
        of event: ReplayedEvent,
        _ sources: inout [EventSource: EventSource]
    ) throws(Mistake) -> EventContext {
        guard (1...EventName.maximumBytes).contains(event.event.utf8.count),
            event.event != EventName.everything.text
        else { throw Mistake("\"\(event.event.shortened(toScalars: 64))\" is no name of an event") }
        guard !event.payload.isEmpty else { throw Mistake("\(event.event) \(event.id.shortened()) has no content") }
        let id = try identity(event.id)
        let known = sources[id.source]
        let source = known ?? EventSource(restored: id.source)
        if known == nil { sources[source] = source }
        return EventContext(
            id: EventID(source: source, number: id.number),
            nanosecondsSinceEpoch: event.nanosecondsSinceEpoch,
            cause: try event.cause.map(identity),
            root: try event.root.map(identity),
            traceparent: event.traceparent.flatMap { Traceparent($0) }
        ).replayed
    }

    private static func identity(_ text: String) throws(Mistake) -> EventID {
        guard let id = EventID(text), (1...EventName.maximumBytes).contains(id.origin.utf8.count) else {
            throw Mistake("\"\(text.shortened(toScalars: 64))\" is no identity of an event")
        }
        return id
    }
}

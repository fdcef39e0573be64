import BridgeProtocol
import DomainEvents
import EventRouting
import JSONText

/// The events that `supervisor tail` asks its host for, and the part of them that it shows.
struct EventFilter: Sendable, Hashable {
    /// Whether the client asks for every event except the reports of processes about themselves.
    let wantsEverything: Bool
    /// The events that the client asks for by name.
    let names: Set<EventName>
    /// The origin whose events are shown; nil for all.
    let origin: String?

    /// - Parameters:
    ///   - events: names with commas between them; `*` or nil for all events that are not reports.
    ///   - origin: a worker's name, or the name for the supervisor's input; nil for all origins.
    init(events: String?, from origin: String?) throws(UsageError) {
        self.origin = origin
        guard let events else {
            (wantsEverything, names) = (true, [])
            return
        }
        let words = events.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        for word in words where !(1...EventName.maximumBytes).contains(word.utf8.count) {
            throw UsageError(
                description: """
                    found a name of \(word.utf8.count) bytes among the events \(ShownValue.text(events)), expected names of 1 to \
                    \(EventName.maximumBytes) bytes, with commas between them
                    """,
                topic: .tail
            )
        }
        wantsEverything = words.contains(EventName.everything.text)
        names = EventName.set(words.filter { $0 != EventName.everything.text })
    }

    /// - Parameters:
    ///   - found: the origin of the event.
    ///   - host: the origin of the host's own events.
    func shows(_ name: String, of found: String, host: String?) -> Bool {
        guard wantsEverything || names.contains(EventName(name)) else { return false }
        return origin == nil || isWanted(found, host: host)
    }

    /// Whether some of the missing events might be shown.
    func shows(_ gap: PrintedGap, host: String) -> Bool {
        if let name = gap.name, !wantsEverything, !names.contains(EventName(name)) { return false }
        // A gap with the most ranges may have counted events of further origins.
        if origin == nil || gap.ranges.isEmpty || gap.ranges.count >= Gap.maximumRanges { return true }
        return gap.ranges.contains { isWanted($0.first.origin, host: host) }
    }

    private func isWanted(_ found: String, host: String?) -> Bool {
        found == origin || (found == host && origin == TextFormatter.input)
    }
}

import BridgeProtocol
import DomainEvents
import EventRouting
import JSONText

/// Which events `supervisor tail` shows, and what it asks its host for.
struct EventFilter: Sendable, Hashable {
    /// Whether every event is asked for that is no report of a process about itself.
    let wantsEverything: Bool
    /// What is asked for by name.
    let names: Set<EventName>
    /// Whose events are shown; nil for everybody's.
    let origin: String?

    /// - Parameters:
    ///   - events: names with commas between them, `*` for all that are no reports; nil for those.
    ///   - origin: a worker's name, or what stands in its place for events of the supervisor's input.
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
                    \(EventName.maximumBytes) with commas between them
                    """,
                topic: .tail
            )
        }
        wantsEverything = words.contains(EventName.everything.text)
        names = EventName.set(words.filter { $0 != EventName.everything.text })
    }

    /// - Parameters:
    ///   - found: whose event it is.
    ///   - host: what the host's own events are called after.
    func shows(_ name: String, of found: String, host: String?) -> Bool {
        guard wantsEverything || names.contains(EventName(name)) else { return false }
        return origin == nil || isWanted(found, host: host)
    }

    /// Whether some of the events that are missing are shown.
    func shows(_ gap: PrintedGap, host: String) -> Bool {
        if let name = gap.name, !wantsEverything, !names.contains(EventName(name)) { return false }
        return origin == nil || gap.ranges.isEmpty || gap.ranges.contains { isWanted($0.first.origin, host: host) }
    }

    private func isWanted(_ found: String, host: String?) -> Bool {
        found == origin || (found == host && origin == TextFormatter.input)
    }
}

import BridgeProtocol
import CBOR
import DomainEvents
import JSONText

/// Prints each event as a CloudEvents 1.0 object, for programs.
struct CloudEventFormatter: EventFormatter {
    func line(_ event: PrintedEvent) -> [UInt8] {
        var line: [UInt8] = []
        CloudEvent(
            name: event.name,
            context: event.context,
            source: event.sender ?? event.context.id.origin,
            payload: event.content
        ).write(to: &line)
        return line
    }

    /// A line such as `{"bridge":"gap","type":"BoxProvisioned","count":37,"reason":"dropped","ranges":[…]}`.
    ///
    /// No CloudEvent begins with the key `bridge`.
    func line(_ gap: PrintedGap) -> [UInt8] {
        var members: [(String, CBORValue)] = [("bridge", .text("gap"))]
        if let name = gap.name { members.append(("type", .text(name))) }
        members.append(("count", gap.count.map { .unsigned($0) } ?? .null))
        members.append(("reason", .text(gap.reason.rawValue)))
        let ranges = gap.ranges.map { range -> CBORValue in
            let last = EventID(
                origin: range.first.origin,
                incarnation: range.first.incarnation,
                number: range.last.asWritten
            )
            return .map([
                .init(key: .text("first"), value: .text(range.first.description)),
                .init(key: .text("last"), value: .text(last.description)),
            ])
        }
        if !ranges.isEmpty { members.append(("ranges", .array(ranges))) }
        var line: [UInt8] = []
        JSONWriter().write(.map(members.map { .init(key: .text($0.0), value: $0.1) }), to: &line)
        return line
    }
}

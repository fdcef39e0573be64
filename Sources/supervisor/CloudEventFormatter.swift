import CBOR
import DomainEvents
import JSONText

/// Prints each event as a CloudEvents 1.0 object, for programs.
struct CloudEventFormatter: EventFormatter {
    func line(_ event: PrintedEvent) -> [UInt8] {
        var attributes: [(String, CBORValue)] = [
            ("specversion", .text("1.0")),
            ("id", .text(event.context.id.description)),
            ("source", .text(event.sender ?? event.context.id.origin)),
            ("type", .text(event.name)),
        ]
        let nanoseconds = event.context.nanosecondsSinceEpoch
        let seconds = Int64(nanoseconds / 1_000_000_000)
        if let time = DateText.rfc3339(seconds: seconds, microseconds: Int(nanoseconds % 1_000_000_000 / 1000)) {
            attributes.append(("time", .text(time)))
        }
        attributes.append(("attempt", .unsigned(UInt64(clamping: event.context.attempt))))
        if let cause = event.context.cause {
            attributes.append(("causationid", .text(cause.description)))
        }
        if let traceparent = event.context.traceparent {
            attributes.append(("traceparent", .text(traceparent.description)))
        }
        switch event.content {
        case .value(let value):
            attributes.append(("data", value))
        case .bytes(let bytes):
            attributes.append(("datacontenttype", .text("application/cbor")))
            attributes.append(("data_base64", .bytes(bytes)))
        }
        var line: [UInt8] = []
        JSONWriter().write(.map(attributes.map { .init(key: .text($0.0), value: $0.1) }), to: &line)
        return line
    }
}

import CBOR
package import DomainEvents
import JSONText

/// An event as CloudEvents 1.0 writes it in JSON.
package struct CloudEvent: Sendable {
    package let name: String
    package let context: EventContext
    /// The process that the event comes from.
    package let source: String
    /// The event's sequence on a link, or its position in a journal; nil to leave the attribute out.
    package let sequence: UInt64?
    package let payload: ShownPayload

    package init(
        name: String,
        context: EventContext,
        source: String,
        sequence: UInt64? = nil,
        payload: ShownPayload
    ) {
        self.name = name
        self.context = context
        self.source = source
        self.sequence = sequence
        self.payload = payload
    }

    /// Appends the event as one JSON object, without a line break.
    ///
    /// The short attributes come first, so that a script finds them without reading the data.
    package func write(to text: inout [UInt8]) {
        var attributes: [(String, CBORValue)] = [
            ("specversion", .text("1.0")),
            ("id", .text(context.id.description)),
            ("source", .text(source)),
            ("type", .text(name)),
        ]
        if let time = DateText.rfc3339(nanosecondsSinceEpoch: context.nanosecondsSinceEpoch) {
            attributes.append(("time", .text(time)))
        }
        if let sequence { attributes.append(("sequence", .unsigned(sequence))) }
        attributes.append(("attempt", .unsigned(UInt64(clamping: context.attempt))))
        if context.isReplay { attributes.append(("replay", .bool(true))) }
        if let cause = context.cause {
            attributes.append(("causationid", .text(cause.description)))
        }
        if let traceparent = context.traceparent {
            attributes.append(("traceparent", .text(traceparent.description)))
        }
        if let bookmark = context.bookmark?.bookmark {
            attributes.append(
                bookmark.text.map { ("bookmark", .text($0)) } ?? ("bookmark_base64", .bytes(bookmark.bytes))
            )
        }
        switch payload {
        case .value(let value):
            attributes.append(("data", value))
        case .bytes(let bytes, _):
            attributes.append(("datacontenttype", .text("application/cbor")))
            attributes.append(("data_base64", .bytes(bytes)))
        }
        JSONWriter().write(.map(attributes.map { .init(key: .text($0.0), value: $0.1) }), to: &text)
    }
}

import CBOR
import DomainEvents
import EventRouting

/// An event as it is printed: what there is to say of it, and its content as JSON.
struct PrintedEvent {
    /// The content, in the form that it can be shown in.
    enum Content {
        case value(CBORValue)
        /// What is no CBOR: a worker sends what it likes, and nobody on the way looks into it.
        case bytes([UInt8])
    }

    let name: String
    let context: EventContext
    /// The worker that it comes from; nil for an event of the input.
    let sender: String?
    let content: Content

    init(name: String, context: EventContext, sender: String?, content: Content) {
        self.name = name
        self.context = context
        self.sender = sender
        self.content = content
    }

    init(_ event: PassingEvent) {
        let content: Content
        do throws(CBORError) {
            content = .value(try CBORValue(decoding: event.payload))
        } catch {
            content = .bytes(Array(event.payload))
        }
        self.init(name: event.name, context: event.context, sender: event.sender, content: content)
    }
}

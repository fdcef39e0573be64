package import DomainEvents

/// An event on its way through the router, for the tap; its payload is valid only during the call.
package struct PassingEvent {
    package let name: String
    package let context: EventContext
    package let payload: UnsafeRawBufferPointer
    /// The peer that the event came from; nil if the event was published here.
    package let sender: String?
}

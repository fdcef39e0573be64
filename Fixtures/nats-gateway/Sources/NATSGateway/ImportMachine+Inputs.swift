/// The inputs and the actions of an ``ImportMachine``.
extension ImportMachine {
    enum Input: Sendable {
        /// The gateway that this one replaces has read the stream since their host named its last place, so that place
        /// does not count any more.
        case overtaken
        case connected
        case disconnected
        case looked(ImportLook)
        /// There is no stream now, or it cannot be read; the text says why.
        case lookFailed(String)
        /// The identity of a message that was asked for; nil if there is none at that place.
        case identified(String?)
        case consumerMade
        case consumerNotMade(String)
        /// The identity is empty if the message has none.
        case arrived(ConsumerPlace, reply: String, identity: String, Content)
        /// The broker's sign of life, with the count of deliveries that it has made.
        case heartbeat(deliveries: UInt64)
        /// The host has the event, or will never take it; `refusal` then says why.
        case settled(sequence: UInt64, refusal: String?)
        /// The host has had the time to keep a place in the stream that was made at this time.
        case placeKept(created: Int64)
        case timeOver
    }

    enum Action: Sendable {
        /// Looks at the stream and its consumers, and at the message at this place; 0 for none.
        case look(message: UInt64)
        case identify(UInt64)
        /// Makes the consumer with this number, which begins at place `start`, and then removes the others.
        ///
        /// Behind the place `unkept` the host may not have kept any place, and the consumer has to say so; nil if the
        /// host has.
        case makeConsumer(UInt64, start: UInt64, unkept: UInt64?, removing: [UInt64])
        /// Gives the host time to keep the place of the event that it has just got.
        case awaitKeeping(created: Int64)
        /// Gives the event to the host, behind those given before.
        case publish(Event, sequence: UInt64, mayBeRepeat: Bool)
        case acknowledge(reply: String)
        /// Tells the broker that the message can never be handled.
        case terminate(reply: String)
        /// Replaces the timer that runs.
        case startTimer(Duration)
        case stopTimer
        case report(String)
        /// Another gateway reads in the name of this node: this one must end.
        case end(String)
    }

    enum Content: Sendable {
        case event(Event)
        /// An event of a name that this node does not import.
        case unwanted
        /// The message is no event; the text says why.
        case undecodable(String)
    }
}

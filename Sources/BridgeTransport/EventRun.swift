package import DomainEvents

/// What a thread that reads a link keeps from one event to the next, while there are events in its buffer.
///
/// A flood brings hundreds of events of one name with each read. The first event's receivers are looked up. For each
/// later event a comparison shows that they are still right: no lock is taken and no reference counted. The link notes
/// a handled event when the next one arrives, in one turn of the lock for both.
///
/// The run belongs to the thread's call and not to the link. A thread that is held up in a slow handler keeps what it
/// uses, while the thread that reads on looks up the receivers again.
package struct EventRun {
    /// The receivers of the last name's events, as the router knows them.
    private var receivers: AnyObject?
    /// The address of ``receivers``; 0 for none.
    package private(set) var receiversAddress: UInt = 0
    /// The subscribers of this process that the last event had.
    package var subscribers = KeptSubscribers()

    /// The last event whose handlers have returned, until the link has noted it; 0 for none.
    private(set) var handled: UInt64 = 0
    /// Whether the event in ``handled`` found no receiver.
    private(set) var wasUnwanted = false

    package init() {}

    /// The handlers of an event have returned.
    mutating func wasHandled(_ sequence: UInt64, wasUnwanted: Bool = false) {
        (handled, self.wasUnwanted) = (sequence, wasUnwanted)
    }

    /// The link has noted what was handled.
    mutating func wasNoted() { handled = 0 }

    /// Keeps the receivers of another name's events, in place of all that was looked up before.
    package mutating func hold(_ receivers: AnyObject) {
        self.receivers = receivers
        receiversAddress = UInt(bitPattern: ObjectIdentifier(receivers))
        subscribers = KeptSubscribers()
    }

    /// Releases what was looked up: something other than an event follows, and may take long.
    mutating func letGo() {
        receivers = nil
        receiversAddress = 0
        subscribers = KeptSubscribers()
    }
}

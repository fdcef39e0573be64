/// One event that all forwarders hold back until it lies in every outbox and every strand.
@usableFromInline
package struct HeldEvents {
    /// Whether a journal records the event and the receivers to which the event is owed.
    package let areRecorded: Bool
    /// Whether each of several forwarders only keeps room for the event, with ``keep(_:)``: the event enters outboxes
    /// when all forwarders have room.
    package internal(set) var keepsRoomFirst = false
    private var events: [any HeldEvent] = []
    private var rooms: [KeptRoom] = []

    package init(areRecorded: Bool = false) {
        self.areRecorded = areRecorded
    }

    package mutating func append(_ event: any HeldEvent) { events.append(event) }

    package mutating func keep(_ room: KeptRoom) { rooms.append(room) }

    /// Takes out the rooms that are kept, to use them or to give them back.
    mutating func takeRooms() -> [KeptRoom] {
        keepsRoomFirst = false
        defer { rooms = [] }
        return rooms
    }

    /// Lets the event leave all outboxes.
    package mutating func release() {
        for index in events.indices { events[index].release() }
    }

    /// Writes the event; called once, after ``release()``.
    package func flush() {
        for event in events { event.flush() }
    }

    /// The receivers that the event is owed to; empty if no journal records the event.
    var owed: [OwedReceiver] { areRecorded ? events.flatMap { $0.owed } : [] }
}

/// Room that one of several forwarders keeps for an event in all its outboxes; it is used or given back.
package struct KeptRoom {
    /// Puts the event into the outboxes, and holds it there.
    let use: (_ held: inout HeldEvents?) -> Forwarded
    let giveBack: () -> Void

    package init(use: @escaping (_ held: inout HeldEvents?) -> Forwarded, giveBack: @escaping () -> Void) {
        (self.use, self.giveBack) = (use, giveBack)
    }
}

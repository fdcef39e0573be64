/// Says how an event is made of its stored properties, so that it can be written and read without `Codable`'s containers.
///
///     static let layout = EventLayout(Self.init(id:title:), .field("id", \.id), .field("title", \.title))
///
/// The fields are those of the type's `Codable` form, by the same names and in the same order. Events are made by the
/// initializer that is given here, which may refuse values by throwing.
package struct EventLayout<Event>: Sendable {
    package let fields: [LaidOutField]

    /// How much memory the arguments take that `make` is called with.
    package let argumentBytes: Int
    package let argumentAlignment: Int

    /// Makes an event of arguments, which it takes out of their memory also when it throws.
    package let make: @Sendable (_ arguments: UnsafeMutableRawPointer) throws -> Event

    /// Any number of fields; for a few of them there is a quicker way below.
    package init<each Value: Codable & Sendable>(
        _ make: @escaping @Sendable (repeat each Value) throws -> Event,
        _ field: repeat EventField<Event, each Value>
    ) {
        var fields: [LaidOutField] = []
        var place = ArgumentPlace()
        for field in repeat each field { fields.append(place.next(field)) }
        self.init(fields, place) { arguments in
            var place = ArgumentPlace()
            return try make(repeat place.take((each Value).self, from: arguments))
        }
    }

    package init(
        _ fields: [LaidOutField],
        _ arguments: ArgumentPlace,
        _ make: @escaping @Sendable (_ arguments: UnsafeMutableRawPointer) throws -> Event
    ) {
        for (index, field) in fields.enumerated() {
            let isNew = !fields[..<index].contains { $0.name == field.name }
            precondition(isNew, "The layout of \(Event.self) has the field \"\(field.name)\" twice")
        }
        self.fields = fields
        argumentBytes = arguments.end
        argumentAlignment = arguments.alignment
        self.make = make
    }
}

/// One field of an `EventLayout`: the name of a property in its encoded form, and which it is.
package struct EventField<Event, Value: Codable & Sendable> {
    let name: String
    let offset: Int

    /// A stored property; stops the program for any other.
    package static func field(_ name: String, _ property: KeyPath<Event, Value>) -> EventField {
        guard let offset = MemoryLayout<Event>.offset(of: property) else {
            preconditionFailure("The field \"\(name)\" of \(Event.self) is not a stored property of a struct")
        }
        return EventField(name: name, offset: offset)
    }
}

/// A field of any type.
package struct LaidOutField: Sendable {
    package let name: String
    /// Where the property lies in the event.
    package let offset: Int
    /// Where its value lies among the arguments of the initializer.
    package let argument: Int
    package let type: any (Codable & Sendable).Type
}

/// Where the arguments of an initializer lie: one after the other, each where its type may lie.
package struct ArgumentPlace {
    package var end = 0
    package var alignment = 1

    @inlinable
    package init() {}

    package mutating func next<Event, Value>(_ field: EventField<Event, Value>) -> LaidOutField {
        LaidOutField(name: field.name, offset: field.offset, argument: next(Value.self), type: Value.self)
    }

    @inlinable
    package mutating func next<Value>(_ type: Value.Type) -> Int {
        let mask = MemoryLayout<Value>.alignment &- 1
        let start = (end &+ mask) & ~mask
        end = start &+ MemoryLayout<Value>.size
        alignment = max(alignment, MemoryLayout<Value>.alignment)
        return start
    }

    @inlinable
    package mutating func take<Value>(_ type: Value.Type, from arguments: UnsafeMutableRawPointer) -> Value {
        // The arguments were put at the same places in the same order, each of its type.
        (arguments + next(type)).assumingMemoryBound(to: type).move()
    }
}

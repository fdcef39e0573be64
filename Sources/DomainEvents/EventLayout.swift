/// An event that the bridge writes and reads by a layout instead of `Codable`'s containers: the same bytes, in a
/// fraction of the time.
///
/// The layout takes one line for a struct of stored properties:
///
/// ```swift
/// struct BoxProvisioned: LaidOutEvent {
///     let boxID: Int64
///     let label: String
///
///     static let layout = EventLayout(Self.init(boxID:label:), .field("boxID", \.boxID), .field("label", \.label))
/// }
/// ```
///
/// Peers do not notice: one peer may read by layout an event that another has written with `Codable`, and the other way
/// round. The layout has to match the `Codable` form; in a test, `layoutMismatch(of:)` of EventBridgeTesting finds a
/// mismatch if the given event shows one.
public protocol LaidOutEvent: DomainEvent {
    /// The stored properties that are the event's fields, and the initializer that makes an event of them.
    static var layout: EventLayout<Self> { get }
}

/// The fields of an event and its initializer; the bridge uses them in place of `Codable`'s containers.
///
/// The fields are those of the type's `Codable` form, with the same names and in the same order. A field that is nil is
/// left out, as in the compiler's `Codable` code. The given initializer makes the events that are read, so its checks
/// hold: an event that comes over a link is refused if the initializer throws.
///
/// Making a layout takes microseconds, so keep it in a `static let`. The bridge asks for the layout when it first uses
/// the type. So code that makes a layout must not publish or subscribe to events of the type: it would wait for itself.
public struct EventLayout<Event>: Sendable {
    package let fields: [LaidOutField]

    /// How much memory the arguments of `make` take.
    package let argumentBytes: Int
    package let argumentAlignment: Int

    /// Makes an event of the arguments; moves them out of their memory, even if it throws.
    package let make: @Sendable (_ arguments: UnsafeMutableRawPointer) throws -> Event

    /// Makes a layout of any number of fields; for up to eight fields there are quicker initializers.
    ///
    /// Two fields of one name are a precondition failure.
    ///
    /// - Parameters:
    ///   - make: The initializer, with one parameter for each field, in their order.
    ///   - field: The fields, in the order in which `Codable` writes them.
    public init<each Value: Codable & Sendable>(
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

    @usableFromInline
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

/// One field of an ``EventLayout``: a property, and its name in the encoded form.
public struct EventField<Event, Value: Codable & Sendable> {
    let name: String
    let offset: Int

    /// A stored property of a struct, without observers; any other property is a precondition failure.
    ///
    /// - Parameters:
    ///   - name: The property's coding key.
    ///   - property: The property itself.
    public static func field(_ name: String, _ property: KeyPath<Event, Value>) -> EventField {
        guard let offset = MemoryLayout<Event>.offset(of: property) else {
            preconditionFailure("The field \"\(name)\" of \(Event.self) is not a stored property of a struct")
        }
        return EventField(name: name, offset: offset)
    }
}

/// A field of any type.
@usableFromInline
package struct LaidOutField: Sendable {
    package let name: String
    /// Where the property lies in the event.
    package let offset: Int
    /// Where the property's value lies among the arguments of the initializer.
    package let argument: Int
    package let type: any (Codable & Sendable).Type
}

/// Where the arguments of an initializer lie: one after the other, each aligned for its type.
@usableFromInline
package struct ArgumentPlace {
    @usableFromInline package var end = 0
    @usableFromInline package var alignment = 1

    @inlinable
    package init() {}

    @usableFromInline
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
        // The arguments were put at the same places, in the same order and with the same types.
        (arguments + next(type)).assumingMemoryBound(to: type).move()
    }
}

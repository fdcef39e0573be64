public import DomainEvents

/// A state that follows from the events of a journal, and from nothing else.
///
/// ```swift
/// struct Shelves: Projection {
///     private(set) var places: [Int64: String] = [:]
///     private(set) var missing: [String] = []
///
///     static var events: [ProjectedEvent<Shelves>] {
///         [
///             .on(BoxShelved.self) { $0.places[$1.event.boxID] = $1.event.shelf },
///             .on(BoxShipped.self) { $0.places[$1.event.boxID] = nil },
///         ]
///     }
///
///     mutating func eventsAreMissing(_ gap: JournalGap) { missing.append("\(gap)") }
/// }
///
/// let shelves = try journal.project(Shelves(), keptIn: "/var/lib/warehouse/shelves")
/// ```
///
/// The state is saved through `Codable`, so the type must encode everything that its rules use. What an event does may
/// depend on nothing but the state and the event: no clock, no random number, no file.
public protocol Projection: Codable, Sendable {
    /// The events that change the state, and how; each event comes once, in the journal's order, whatever its type.
    static var events: [ProjectedEvent<Self>] { get }

    /// The number of the present rules; raise it when you change ``events`` or the state's form.
    ///
    /// A file with a state of a lower revision is not used: the state is built from the journal again. A file of a
    /// higher revision is refused. The default is 1.
    static var revision: Int { get }

    /// The name in the state's file. A file with another name is refused. The default is the type's own name.
    static var projectionName: String { get }

    /// Called where events are missing, in the journal's order.
    ///
    /// The reasons are damage, events that the journal no longer keeps, and an event of a type of ``events`` that does
    /// not decode. A gap without positions may come again after a restart of the program.
    mutating func eventsAreMissing(_ gap: JournalGap)
}

extension Projection {
    /// The first revision.
    public static var revision: Int { 1 }

    /// The type's own name, without its module.
    public static var projectionName: String { String(describing: Self.self) }
}

/// What the events of one type do to the state of a ``Projection``.
public struct ProjectedEvent<State: Sendable>: Sendable {
    /// Applies a record to the state; returns a gap if the record does not decode.
    typealias Rule = (inout State, StoredRecord, EventContext) -> JournalGap?

    let names: Set<EventName>
    /// Makes the rule for one reader.
    let makeRule: @Sendable () -> Rule

    /// Changes the state at each event of a type.
    ///
    /// - Parameters:
    ///   - type: the type of the events.
    ///   - upcasters: the former names of the type's older events, and how to read older forms of these events.
    ///   - apply: changes the state; calls come on any thread, one at a time.
    public static func on<E: DomainEvent>(
        _ type: E.Type,
        upcasting upcasters: [JournalUpcaster] = [],
        _ apply: @escaping @Sendable (inout State, JournalEntry<E>) -> Void
    ) -> ProjectedEvent {
        ProjectedEvent(names: EntryDecoder<E>.names(upcasters)) {
            let decoder = EntryDecoder<E>(upcasters)
            return { state, record, context in
                do {
                    let event = try decoder.event(of: record)
                    apply(&state, JournalEntry(position: record.position, event: event, context: context))
                    return nil
                } catch {
                    return decoder.gap(in: record, error)
                }
            }
        }
    }
}

/// Something that happened, worth telling others about: a value that is published once and goes to every subscriber.
///
/// An event is a plain `Codable` and `Sendable` value, named in the past tense. Conforming takes one line:
///
/// ```swift
/// struct BoxProvisioned: DomainEvent {
///     let boxID: Int64
///     let label: String
/// }
/// ```
public protocol DomainEvent: Codable, Sendable {
    /// The name under which the event travels between processes.
    ///
    /// The default is the type's own name. Pin the name in a test: if you rename the type, you rename the event for
    /// every peer. If two types in a process have the same name, the first use of the second type ends the process with
    /// a message that names both.
    static var eventName: String { get }

    /// Checks the event's invariants after it was decoded.
    ///
    /// Bridges, journals and notification adapters call this on each event that they decode. If this throws, no handler
    /// gets the event: a bridge refuses it and tells the sender why. The same event may be decoded and checked twice,
    /// so the outcome must follow from the event alone. The default accepts everything.
    func validate() throws

    /// Whether the events are reports of a publisher or of a bridge about itself; types of programs are none.
    ///
    /// Do not declare this. It is here because a look for a protocol among the conformances of all the program's images
    /// would take a tenth of a millisecond for each event type that a process uses.
    static var _isSelfReport: Bool { get }
}

extension DomainEvent {
    /// The type's own name, without its module.
    public static var eventName: String {
        ownName(of: Self.self)
    }

    /// Accepts every value.
    public func validate() throws {}

    /// False: a program's event is no report.
    public static var _isSelfReport: Bool { false }
}

/// The name of a type as the runtime has it, without its module.
///
/// `String(describing:)` returns the same, but looks for conformances of the metatype in all of the program's images,
/// and makes a mirror. For the names of the reports alone, this took a tenth of a worker's start.
///
/// Not inlined: a compiler that sees which type this is writes the name into the program, and for a private type that
/// is not the name that the runtime gives. A name must not depend on the build.
@inline(never)
private func ownName(of type: any Any.Type) -> String {
    _typeName(type, qualified: false)
}

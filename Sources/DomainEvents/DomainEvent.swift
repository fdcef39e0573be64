/// Something that happened, worth telling others about: a value that is published once and reaches every subscriber.
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
    /// Defaults to the type's own name. Pin it in a test: renaming the type renames the event for every peer. Two types
    /// with one name in a process are a precondition failure that names both, when the second is first used.
    static var eventName: String { get }

    /// Checks the event's invariants after it was decoded from another process.
    ///
    /// The bridge calls this on whatever it decodes. An event that throws here is refused by name to its sender and
    /// reaches no handler. The default accepts everything.
    func validate() throws
}

extension DomainEvent {
    /// The type's own name, without its module.
    public static var eventName: String { String(describing: Self.self) }

    /// Accepts every value.
    public func validate() throws {}
}

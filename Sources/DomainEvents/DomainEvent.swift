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
    /// The default is the type's own name. Pin the name in a test: if you rename the type, you rename the event for
    /// every peer. If two types in a process have the same name, the first use of the second type ends the process with
    /// a message that names both.
    static var eventName: String { get }

    /// Checks the event's invariants after it was decoded from another process.
    ///
    /// The bridge calls this on each event that it decodes. If this throws, no handler gets the event: the bridge
    /// refuses it and tells the sender why. The default accepts everything.
    func validate() throws
}

extension DomainEvent {
    /// The type's own name, without its module.
    public static var eventName: String { String(describing: Self.self) }

    /// Accepts every value.
    public func validate() throws {}
}

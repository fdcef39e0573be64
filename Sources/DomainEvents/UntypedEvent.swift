package import CBOR

/// An event without a Swift type: its name, and its content as it travels between processes.
///
/// It is for programs that pass events on without knowing their types: gateways, recorders, loggers.
///
/// ```swift
/// let subscription = try publisher.subscribe(toEventsNamed: "BoxProvisioned") { event in log(event.payload) }
/// try publisher.publish(UntypedEvent(name: "BoxShelved", payload: [0xA1, 0x62, 0x69, 0x64, 0x07]))
/// ```
///
/// In one publisher a name belongs to a type or to untyped events, whichever was first. If a type has the name, the
/// calls for untyped events throw. If untyped events have the name and a type of that name is used, the process ends
/// with a message, as it does if two types have one name. Other processes, and other publishers of this process, may
/// use the same name either way.
public struct UntypedEvent: DomainEvent, Hashable {
    /// The name under which the event travels.
    public let name: String

    /// The content: one well-formed item of CBOR, and nothing after it.
    public let payload: [UInt8]

    /// Makes an event, and checks its payload to the last byte.
    ///
    /// - Throws: ``DeliveryError`` with the code `notEncodable` if the name is empty, is `*` or has more than 256
    ///   bytes; or if the payload is not exactly one well-formed item of at most 64 levels and 16 Mi items.
    public init(name: String, payload: [UInt8]) throws(DeliveryError) {
        if let mistake = EventName.mistake(in: name) { throw UntypedEvent.error(name, mistake) }
        do throws(CBORError) {
            try UntypedEvent.check(payload)
        } catch {
            throw UntypedEvent.error(name, "its payload is not one item of CBOR: \(error.sentenceOfValue)")
        }
        self.init(name: name, checked: payload)
    }

    private init(name: String, checked payload: [UInt8]) {
        self.name = name
        self.payload = payload
    }

    /// Makes an event of a payload that another process has sent, under a name that was checked.
    package static func received(
        _ payload: UnsafeRawBufferPointer,
        name: String
    ) throws(CBORError) -> UntypedEvent {
        try check(payload)
        return UntypedEvent(name: name, checked: Array(payload))
    }

    private static func check(_ payload: [UInt8]) throws(CBORError) {
        let mistake: CBORError? = payload.withUnsafeBytes { bytes in
            do throws(CBORError) {
                try check(bytes)
                return nil
            } catch {
                return error
            }
        }
        if let mistake { throw mistake }
    }

    private static func check(_ payload: UnsafeRawBufferPointer) throws(CBORError) {
        var reader = CBORReader(payload)
        try reader.skipItem()
        let left = payload.count - reader.position
        if left > 0 { throw CBORError(.trailingBytes(count: left), offset: reader.position) }
    }

    // MARK: - Codable

    private enum CodingKeys: CodingKey {
        case name, payload
    }

    /// Reads an event that is part of another value, and checks it as ``init(name:payload:)`` does.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(
            name: container.decode(String.self, forKey: .name),
            payload: container.decode([UInt8].self, forKey: .payload)
        )
    }

    // MARK: - Errors

    static func error(_ name: String, _ mistake: String) -> DeliveryError {
        DeliveryError(.notEncodable, of: name, "\(name.prefix(256)) was not taken: \(mistake)")
    }

    /// - Parameter type: the type that has the name; nil if it is a type of the bridge.
    static func nameHasType(_ name: String, _ type: (any DomainEvent.Type)?) -> DeliveryError {
        let owner = type.map { "the type \(String(reflecting: $0))" } ?? "a report of the bridge"
        return DeliveryError(
            .nameHasType,
            of: name,
            "\(name) cannot be used without a type: in this publisher the name belongs to \(owner)"
        )
    }

    /// Returns a closure that reads the payload of an event of type `E`; nil for every type but `UntypedEvent`.
    static func payload<E: DomainEvent>(ofEvents type: E.Type) -> (@Sendable (E) throws -> [UInt8])? {
        let payload: @Sendable (UntypedEvent) throws -> [UInt8] = { $0.payload }
        return payload as? @Sendable (E) throws -> [UInt8]
    }
}

extension DomainEvent {
    /// The name of this event: its own if it has no type, otherwise its type's.
    package var nameOfEvent: String { (self as? UntypedEvent)?.name ?? Self.eventName }
}

/// An event in raw memory; the subscriber that gets the event knows its type.
///
/// The code that stores events until they are handled is not generic. Generic code that is compiled without knowing the
/// event's type looks types up at each step, which takes longer than everything else together.
@usableFromInline
struct RawEvent: @unchecked Sendable {
    // Sendable: every event type is Sendable, and the holder of this value has the event to itself or only reads it.
    @usableFromInline let address: UnsafeMutableRawPointer
    /// The bytes in which the event came from another process; nil for an event of this process.
    let payload: UnsafeRawBufferPointer?

    @usableFromInline
    init(_ address: UnsafeMutableRawPointer) {
        self.address = address
        payload = nil
    }

    /// Refers to the caller's event for as long as the caller lends it and its payload; nothing moves the event away.
    @usableFromInline
    init(reading event: UnsafeRawPointer, payload: UnsafeRawBufferPointer? = nil) {
        address = UnsafeMutableRawPointer(mutating: event)
        self.payload = payload
    }

    func copy<E: DomainEvent>(as type: E.Type) -> E {
        address.assumingMemoryBound(to: type).pointee
    }

    @inlinable
    func move<E: DomainEvent>(as type: E.Type) -> E {
        address.assumingMemoryBound(to: type).move()
    }
}

extension DomainEvent {
    /// How many bytes an event takes in the memory for waiting events: its stride.
    static var rawSize: Int {
        // Swift aligns no type to more than 16 bytes, and the memory for events relies on it.
        precondition(MemoryLayout<Self>.alignment <= 16, "\(eventName) is aligned to more than 16 bytes")
        return MemoryLayout<Self>.stride
    }

    static func copyRaw(from source: UnsafeRawPointer, to target: UnsafeMutableRawPointer) {
        // By value: a copy of memory would read the stride, but a caller's event may lie in memory of its size alone.
        target.initializeMemory(as: Self.self, to: source.assumingMemoryBound(to: Self.self).pointee)
    }

    static func destroyRaw(_ event: UnsafeMutableRawPointer) {
        event.assumingMemoryBound(to: Self.self).deinitialize(count: 1)
    }
}

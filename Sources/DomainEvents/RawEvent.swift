/// An event in raw memory, whose type its subscriber knows.
///
/// What waits for handlers elsewhere is kept by code that is generic over nothing: code that is generic over the event,
/// but compiled without knowing it, looks types up at each step, which takes longer than everything else together.
@usableFromInline
struct RawEvent: @unchecked Sendable {
    // Sendable: every event type is, and the holder of this value has the event to itself.
    @usableFromInline let address: UnsafeMutableRawPointer

    @usableFromInline
    init(_ address: UnsafeMutableRawPointer) {
        self.address = address
    }

    /// The caller's event, for as long as the caller lends it: nothing takes it away.
    @inlinable
    init(reading event: UnsafeRawPointer) {
        address = UnsafeMutableRawPointer(mutating: event)
    }

    /// A copy of the event.
    func copy<E: DomainEvent>(as type: E.Type) -> E {
        address.assumingMemoryBound(to: type).pointee
    }

    /// The event, which is in this memory no longer.
    @inlinable
    func move<E: DomainEvent>(as type: E.Type) -> E {
        address.assumingMemoryBound(to: type).move()
    }
}

extension DomainEvent {
    /// How many bytes an event takes: its stride, as copying in memory may write all of that.
    static var rawSize: Int {
        // Swift aligns nothing to more; what keeps events relies on it.
        precondition(MemoryLayout<Self>.alignment <= 16, "\(eventName) is aligned to more than 16 bytes")
        return MemoryLayout<Self>.stride
    }

    static func copyRaw(from source: UnsafeRawPointer, to target: UnsafeMutableRawPointer) {
        // What is empty lies nowhere: the address of one need not be readable, and copying would read a byte.
        guard MemoryLayout<Self>.size > 0 else { return }
        target.initializeMemory(as: Self.self, from: source.assumingMemoryBound(to: Self.self), count: 1)
    }

    static func destroyRaw(_ event: UnsafeMutableRawPointer) {
        event.assumingMemoryBound(to: Self.self).deinitialize(count: 1)
    }
}

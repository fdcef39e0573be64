import CBOR
package import DomainEvents

/// A source of events, with the bytes by which a frame between two other processes spells it.
package final class SpelledSource: @unchecked Sendable {
    // Sendable: the bytes do not change as long as the object lives.

    package let source: EventSource
    /// The beginning of the identity of each of the source's events; the event's number follows.
    package let bytes: UnsafeRawBufferPointer

    fileprivate init(_ source: EventSource) {
        self.source = source
        let buffer = CBORBuffer(minimumCapacity: 64)
        EventFrame.encodeSource(origin: source.origin, incarnation: source.incarnation, CBORWriter(buffer))
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: buffer.count, alignment: 8)
        copy.copyMemory(from: buffer.bytes)
        bytes = UnsafeRawBufferPointer(copy)
    }

    deinit { bytes.deallocate() }

    /// Whether the source's bytes lie at `position` in `body`.
    @inline(__always)
    func isSpelled(in body: UnsafeRawBufferPointer, at position: Int) -> Bool {
        guard body.count &- position >= bytes.count else { return false }
        var offset = 0
        while offset &+ 8 <= bytes.count {
            guard
                body.loadUnaligned(fromByteOffset: position &+ offset, as: UInt64.self)
                    == bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            else { return false }
            offset &+= 8
        }
        while offset < bytes.count {
            guard body[position &+ offset] == bytes[offset] else { return false }
            offset &+= 1
        }
        return true
    }
}

/// The third processes whose events pass over a link.
///
/// A frame spells the source of such an event by name and incarnation. A reader that compares these bytes need not
/// decode them, and all events of a source share one object.
package struct SpelledSources: Sendable {
    /// How many places there are.
    ///
    /// The events of few sources pass over one link, and two of these rarely share a place.
    private static let places = 64
    /// Among the look-ups that find another source in their place, one in this many replaces that source.
    ///
    /// So if two sources share a place, one of them stays quick.
    private static let patience = 64

    /// A source's place follows from its incarnation, which is random; the array is empty until the first source comes.
    private var sources: [SpelledSource?] = []
    private var missed = 0

    package init() {}

    /// The source as it is kept; nil if another source has its place, and keeps the place for now.
    package mutating func spelled(_ source: EventSource) -> SpelledSource? {
        if sources.isEmpty { sources = Array(repeating: nil, count: Self.places) }
        let place = Self.place(of: source.incarnation)
        if let known = sources[place] {
            if known.source === source || known.source == source { return known }
            missed += 1
            guard missed % Self.patience == 0 else { return nil }
        }
        let new = SpelledSource(source)
        sources[place] = new
        return new
    }

    /// The source of the event whose identity begins at `position`; nil if the source is not kept.
    func source(spelledIn body: UnsafeRawBufferPointer, at position: Int) -> SpelledSource? {
        // A name of less than 256 bytes has its length in one byte or two; a longer name is not looked up.
        guard !sources.isEmpty, body.count &- position > 12, body[position] == 0x83 else { return nil }
        var next = position &+ 2
        var length = Int(body[position &+ 1]) &- 0x60
        if length == 24 {
            length = Int(body[next])
            next &+= 1
        } else if !(0..<24).contains(length) {
            return nil
        }
        next &+= length
        guard body.count &- next >= 9, let incarnation = EventFrame.number(in: body, at: &next),
            let known = sources[Self.place(of: incarnation)], known.isSpelled(in: body, at: position)
        else { return nil }
        return known
    }

    private static func place(of incarnation: UInt64) -> Int { Int(truncatingIfNeeded: incarnation) & (places - 1) }
}

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

    /// Whether the bytes begin here.
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

/// The sources of other processes' events that pass over a link.
///
/// A frame spells such a source by its name and incarnation. A reader that compares these bytes need not take them
/// apart, and all events of a source share one object.
package struct SpelledSources: Sendable {
    /// How many sources are kept, the newest: their events are quick, and those of further sources are not.
    private static let kept = 8

    private var sources: [SpelledSource] = []
    /// Where the next source goes.
    private var next = 0

    package init() {}

    /// The spelling of a source, which is kept from now on.
    package mutating func spelled(_ source: EventSource) -> SpelledSource {
        for known in sources where known.source === source { return known }
        for known in sources where known.source == source { return known }
        let new = SpelledSource(source)
        if sources.count < Self.kept {
            sources.append(new)
        } else {
            sources[next] = new
            next = (next + 1) % Self.kept
        }
        return new
    }

    /// The source whose spelling begins here; nil if it is not kept.
    func source(spelledIn body: UnsafeRawBufferPointer, at position: Int) -> SpelledSource? {
        sources.first { $0.isSpelled(in: body, at: position) }
    }
}

import BridgeProtocol
import TestSupport
import Testing

/// Memory that a worker and its host share, inside a process.
///
/// `@unchecked Sendable`: each test uses its own on one thread.
final class TestMemory: OutboxMemory, OutboxSource, @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer
    private(set) var givenBack: [Range<Int>] = []
    /// How much was copied out of it.
    private(set) var copied = 0
    /// Called before each copy.
    var beforeCopy: () -> Void = {}
    /// How much of it can be read; a file may have been cut.
    var readable = Int.max

    init(slots: Int) {
        let count = OutboxLayout.headBytes + slots * OutboxLayout.slotBytes
        bytes = .allocate(byteCount: count, alignment: OutboxLayout.headBytes)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit { bytes.deallocate() }

    var byteCount: Int { bytes.count }

    func giveBack(_ range: Range<Int>) {
        givenBack.append(range)
        UnsafeMutableRawBufferPointer(rebasing: bytes[range]).initializeMemory(as: UInt8.self, repeating: 0)
    }

    func copy(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        beforeCopy()
        let end = min(bytes.count, readable)
        guard offset >= 0, offset < end else { return 0 }
        let count = min(buffer.count, end - offset)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + count)]))
        copied += count
        return count
    }

    subscript(word: Int) -> UInt64 {
        get { bytes.load(fromByteOffset: word, as: UInt64.self) }
        set { bytes.storeBytes(of: newValue, toByteOffset: word, as: UInt64.self) }
    }

    func scribble(over range: Range<Int>, _ random: inout SeededGenerator) {
        for offset in stride(from: range.lowerBound, to: range.upperBound - 7, by: 8) {
            bytes.storeBytes(of: random.next(), toByteOffset: offset, as: UInt64.self)
        }
    }

    /// The events that a host recovers from here which has received all events up to `received`.
    func recovery(after received: UInt64) throws -> [(sequence: UInt64, payload: [UInt8])] {
        let state = try #require(OutboxState(self))
        var found: [(sequence: UInt64, payload: [UInt8])] = []
        var recovery = OutboxRecovery(self, state: state, limits: LinkLimits())
        try recovery.forEach(after: received) { sequence, record in
            guard case .event(_, let payload) = record else { return }
            found.append((sequence, Array(payload)))
        }
        return found
    }
}

import BridgePlatform
import BridgeProtocol
import Locks

/// Takes events from memory that a peer shares: each is copied once, and handled from the copy.
///
/// Whatever the peer does to the memory, the copy stays as it is. If the memory's size is sealed, the copy is made
/// through a mapping. That is cheaper than a read, for which the kernel goes page by page.
final class FrameCopies: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let memory: MemoryFile
    private let lock = Lock()
    /// The mapping of the memory; it is made for the first event, if none was given.
    private var mapping: MemoryMapping?
    private var isMappable = true
    private var spares: [UnsafeMutableRawBufferPointer] = []
    private var spareBytes = 0

    /// How many bytes of spare memory are kept at most, for later copies: fresh memory is expensive.
    private static let keptBytes = 4 << 20

    /// The length of a copy's memory is a multiple of this, so that a later copy often fits in an earlier one's place.
    private static let grainBytes = 64 << 10

    /// - Parameter mapping: a mapping of `memory`; nil to make one for the first event.
    init(_ memory: MemoryFile, mapping: MemoryMapping? = nil) {
        self.memory = memory
        self.mapping = mapping
    }

    deinit {
        for spare in spares { spare.deallocate() }
    }

    /// A copy of the frame at this place; `limit` is how many bytes the frame's body may have.
    func take(_ placed: PlacedFrame, limit: Int) throws(LinkViolation) -> FrameCopy {
        let range = try placed.range(in: memory.byteCount, limit: limit)
        let copy = FrameCopy(take(range.count), count: range.count, home: self)
        if let mapping = mapped() {
            mapping.copy(range, into: copy.writable)
            return copy
        }
        guard memory.copy(at: range.lowerBound, into: copy.writable) == range.count else {
            throw LinkViolation(
                "event \(placed.sequence) was placed at byte \(placed.offset), where nothing could be read"
            )
        }
        return copy
    }

    private func mapped() -> MemoryMapping? {
        lock.withLock {
            if mapping == nil, isMappable {
                mapping = memory.mapForReading()
                isMappable = mapping != nil
            }
            return mapping
        }
    }

    private func take(_ count: Int) -> UnsafeMutableRawBufferPointer {
        let kept: UnsafeMutableRawBufferPointer? = lock.withLock {
            guard let fitting = spares.lastIndex(where: { $0.count >= count }) else { return nil }
            spareBytes -= spares[fitting].count
            return spares.remove(at: fitting)
        }
        if let kept { return kept }
        let rounded = (count + Self.grainBytes - 1) / Self.grainBytes * Self.grainBytes
        return .allocate(byteCount: rounded, alignment: 16)
    }

    fileprivate func keep(_ buffer: UnsafeMutableRawBufferPointer) {
        let isKept = lock.withLock {
            guard spareBytes + buffer.count <= Self.keptBytes else { return false }
            spareBytes += buffer.count
            spares.append(buffer)
            return true
        }
        if !isKept { buffer.deallocate() }
    }
}

/// This process's own copy of an event's frame; its memory may be used again when nothing holds the copy any more.
final class FrameCopy: @unchecked Sendable {
    // Sendable: the thread that makes the copy writes it; after that, the copy is only read.
    private let buffer: UnsafeMutableRawBufferPointer
    private let count: Int
    private let home: FrameCopies

    fileprivate init(_ buffer: UnsafeMutableRawBufferPointer, count: Int, home: FrameCopies) {
        self.buffer = buffer
        self.count = count
        self.home = home
    }

    deinit { home.keep(buffer) }

    fileprivate var writable: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
    }

    /// Valid as long as the copy is held.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer[..<count]) }
}

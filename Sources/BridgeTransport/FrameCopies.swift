import BridgePlatform
import BridgeProtocol
import CBOR
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
    private let spares = SpareFrames()
    /// Where a copy begins in its memory, so that the value in it is aligned; less than `LentBytes.alignment`.
    private var lead = 0

    /// - Parameter mapping: a mapping of `memory`; nil to make one for the first event.
    init(_ memory: MemoryFile, mapping: MemoryMapping? = nil) {
        self.memory = memory
        self.mapping = mapping
    }

    deinit { spares.close() }

    /// A copy of the frame at this place; `limit` is how many bytes the frame's body may have.
    func take(_ placed: PlacedFrame, limit: Int) throws(LinkViolation) -> FrameCopy {
        let range = try placed.range(in: memory.byteCount, limit: limit)
        let lead = lock.withLock { self.lead }
        let buffer = spares.take(lead + range.count)
        let copy = FrameCopy(buffer, lead..<lead + range.count, home: spares)
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

    /// Lets later copies begin so that the value which was not lent now, because of this misfit, would be aligned.
    ///
    /// The heads of one type's events mostly have the same length, so the next of them fits.
    func shift(by misfit: Int) {
        lock.withLock { lead = (lead + LentBytes.alignment - misfit) % LentBytes.alignment }
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
}

/// Memory of former copies, for later ones: fresh memory is expensive.
///
/// A copy may outlive its link, and the memory that the peer has shared. So it refers to the spares alone.
private final class SpareFrames: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var spares: [UnsafeMutableRawBufferPointer] = []
    private var spareBytes = 0
    private var isClosed = false

    /// How many bytes of spare memory are kept at most.
    private static let keptBytes = 4 << 20

    /// The length of a copy's memory is a multiple of this, so that a later copy often fits in an earlier one's place.
    private static let grainBytes = 64 << 10

    deinit { assert(spares.isEmpty, "The spares were not closed") }

    func take(_ count: Int) -> UnsafeMutableRawBufferPointer {
        let kept: UnsafeMutableRawBufferPointer? = lock.withLock {
            guard let fitting = spares.lastIndex(where: { $0.count >= count }) else { return nil }
            spareBytes -= spares[fitting].count
            return spares.remove(at: fitting)
        }
        if let kept { return kept }
        let rounded = (count + Self.grainBytes - 1) / Self.grainBytes * Self.grainBytes
        return .allocate(byteCount: rounded, alignment: 16)
    }

    func keep(_ buffer: UnsafeMutableRawBufferPointer) {
        let isKept = lock.withLock {
            guard !isClosed, spareBytes + buffer.count <= Self.keptBytes else { return false }
            spareBytes += buffer.count
            spares.append(buffer)
            return true
        }
        if !isKept { buffer.deallocate() }
    }

    /// Frees the spares, and keeps none from now on: no more copies are made.
    func close() {
        let former = lock.withLock {
            isClosed = true
            defer { (spares, spareBytes) = ([], 0) }
            return spares
        }
        for spare in former { spare.deallocate() }
    }
}

/// This process's own copy of an event's frame; its memory may be used again when nothing holds the copy any more.
final class FrameCopy: @unchecked Sendable {
    // Sendable: the thread that makes the copy writes it. After that, the copy is only read, until `lender` is gone;
    // then at most one value refers to its bytes, and has them for itself.
    private let buffer: UnsafeMutableRawBufferPointer
    /// Where in the buffer the frame lies.
    private let range: Range<Int>
    private let home: SpareFrames

    fileprivate init(_ buffer: UnsafeMutableRawBufferPointer, _ range: Range<Int>, home: SpareFrames) {
        self.buffer = buffer
        self.range = range
        self.home = home
    }

    deinit { home.keep(buffer) }

    fileprivate var writable: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: buffer[range])
    }

    /// Valid as long as the copy is held and, once it has been lent, as long as the lender is held.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer[range]) }

    /// Lends the copy's memory to a value that is decoded from it; called once.
    func lend() -> LentBytes { LentBytes(bytes, capacity: buffer.count, memory: self) }
}

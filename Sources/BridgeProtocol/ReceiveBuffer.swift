/// Memory into which a stream is read, and from which frames are taken in place.
///
/// The buffer has a standard size. It grows for a larger frame once the frame's declared length was checked against
/// the limit, and shrinks back a while after the frame is gone.
package struct ReceiveBuffer: ~Copyable {
    /// The standard size, in bytes: as much as one read of a busy local socket brings.
    package static let standardBytes = 128 << 10

    @usableFromInline private(set) var base: UnsafeMutableRawPointer
    private var capacity: Int
    @usableFromInline private(set) var start = 0
    @usableFromInline private(set) var end = 0
    /// How often in a row the standard size would have been enough.
    private var smallNeeds = 0

    /// After how many small needs in a row a larger buffer shrinks: large frames mostly come in rows, and fresh memory
    /// is expensive.
    package static let shrinkAfter = 256

    package init() {
        capacity = Self.standardBytes
        base = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit {
        base.deallocate()
    }

    /// The bytes that have arrived and were not consumed.
    @inlinable package var readable: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base + start, count: end - start)
    }

    /// Where the next read goes; never empty after ``makeRoom(for:)``.
    package var writable: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: base + end, count: capacity - end)
    }

    package mutating func wasFilled(by count: Int) {
        end += count
    }

    package mutating func consume(_ count: Int) {
        start += count
        if start == end {
            start = 0
            end = 0
        }
    }

    /// Makes room for a frame of `length` bytes that begins with the readable bytes, and for at least one byte that was
    /// not read yet.
    package mutating func makeRoom(for length: Int) {
        let wanted = max(length, end - start + 1)
        smallNeeds = wanted <= Self.standardBytes ? smallNeeds + 1 : 0
        if wanted > capacity || (capacity > Self.standardBytes && smallNeeds >= Self.shrinkAfter) {
            move(toCapacity: max(wanted, Self.standardBytes))
        } else if start + wanted > capacity || end == capacity {
            base.copyMemory(from: base + start, byteCount: end - start)
            end -= start
            start = 0
        }
    }

    private mutating func move(toCapacity newCapacity: Int) {
        let larger = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
        larger.copyMemory(from: base + start, byteCount: end - start)
        base.deallocate()
        base = larger
        capacity = newCapacity
        end -= start
        start = 0
    }
}

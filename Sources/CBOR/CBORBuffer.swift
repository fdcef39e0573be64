/// A growable run of raw bytes that an encoder writes into.
///
/// An encoder's caller can keep the buffer from one value to the next, so that in a steady state the buffer allocates
/// nothing.
///
/// Not thread-safe: one writer at a time.
package final class CBORBuffer {
    // The fields are behind a pointer, not in the object: if other modules see a class, Swift checks each access to its
    // stored properties for exclusivity at run time. Writing one item accesses these fields several times.
    package struct Storage {
        package internal(set) var bytes: UnsafeMutableRawPointer
        package var count: Int
        package internal(set) var capacity: Int

        init(minimumCapacity: Int) {
            count = 0
            capacity = max(minimumCapacity, 16)
            bytes = .allocate(byteCount: capacity, alignment: 16)
        }
    }

    package let storage: UnsafeMutablePointer<Storage>

    package init(minimumCapacity: Int = 256) {
        storage = .allocate(capacity: 1)
        storage.initialize(to: Storage(minimumCapacity: minimumCapacity))
    }

    deinit {
        storage.pointee.bytes.deallocate()
        storage.deinitialize(count: 1)
        storage.deallocate()
    }

    @inlinable package var count: Int { storage.pointee.count }

    @inlinable package var capacity: Int { storage.pointee.capacity }

    @inlinable package var isEmpty: Bool { storage.pointee.count == 0 }

    /// The bytes written so far; valid until the next call that writes, removes or frees.
    @inlinable package var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: storage.pointee.bytes, count: storage.pointee.count)
    }

    @inlinable
    package func append(_ byte: UInt8) {
        storage.pointee.append(byte)
    }

    @inlinable
    package func append(_ bytes: UnsafeRawBufferPointer) {
        storage.pointee.append(bytes)
    }

    @inlinable
    package func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    /// Makes room for `count` more bytes and returns where they go; the caller stores them and calls `advance(by:)`.
    @inlinable
    @discardableResult
    package func reserve(_ count: Int) -> UnsafeMutableRawPointer {
        storage.pointee.reserve(count)
    }

    /// Adds to the count the bytes that the caller has stored at the address from `reserve(_:)`.
    @inlinable
    package func advance(by count: Int) {
        precondition(count >= 0 && count <= storage.pointee.capacity &- storage.pointee.count)
        storage.pointee.count &+= count
    }

    /// Leaves a hole of `count` bytes for `patch(at:withBigEndian:)` to fill, and returns its offset.
    @inlinable
    package func appendHole(_ count: Int) -> Int {
        let offset = storage.pointee.count
        reserve(count).initializeMemory(as: UInt8.self, repeating: 0, count: count)
        storage.pointee.count &+= count
        return offset
    }

    /// Overwrites four bytes with a number in network byte order.
    @inlinable
    package func patch(at offset: Int, withBigEndian value: UInt32) {
        precondition(offset >= 0 && offset <= storage.pointee.count - 4)
        storage.pointee.bytes.storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt32.self)
    }

    /// Drops everything from `count` on.
    @inlinable
    package func truncate(to count: Int) {
        precondition(count >= 0 && count <= storage.pointee.count)
        storage.pointee.count = count
    }

    /// Empties the buffer; without `keepingCapacity` it also gives its memory back.
    package func removeAll(keepingCapacity: Bool = true) {
        storage.pointee.count = 0
        guard !keepingCapacity else { return }
        storage.pointee.bytes.deallocate()
        storage.pointee.bytes = .allocate(byteCount: 16, alignment: 16)
        storage.pointee.capacity = 16
    }

    package func copied() -> [UInt8] { Array(bytes) }
}

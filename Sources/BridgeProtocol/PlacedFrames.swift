/// The placed frames of the batch that is being written; their memory stays in place until the batch is written.
struct PlacedFrames: ~Copyable {
    /// How many placed frames fit: twice as many as a default window holds if all of them have the least length.
    private static let capacity = 64

    private var base: UnsafeMutableRawPointer?
    private var used = 0

    deinit { base?.deallocate() }

    /// Adds a placed frame, and returns its bytes; nil if the batch is full.
    mutating func append(_ frame: PlacedFrame) -> UnsafeRawBufferPointer? {
        guard used + PlacedFrame.maximumBytes <= Self.capacity * PlacedFrame.maximumBytes else { return nil }
        let base = self.base ?? .allocate(byteCount: Self.capacity * PlacedFrame.maximumBytes, alignment: 16)
        self.base = base
        let count = frame.encode(at: base + used)
        defer { used += count }
        return UnsafeRawBufferPointer(start: base + used, count: count)
    }

    mutating func removeAll() {
        used = 0
    }
}

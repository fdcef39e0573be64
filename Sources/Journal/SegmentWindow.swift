/// Bytes of a segment in memory: a cursor reads into them, and then portions may keep them.
///
/// A cursor writes only while it alone refers to the window.
final class SegmentWindow: @unchecked Sendable {
    // Sendable: see above; the owner of a cursor hands portions from thread to thread in order.

    /// A window without bytes; no cursor is alone in referring to it.
    static let empty = SegmentWindow(byteCount: 0)

    let bytes: UnsafeMutableRawBufferPointer

    init(byteCount: Int) { bytes = .allocate(byteCount: byteCount, alignment: 8) }

    deinit { bytes.deallocate() }
}

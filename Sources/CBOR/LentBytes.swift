// FoundationEssentials, the small half of Foundation, is a module only on some systems; elsewhere there is only the
// whole.
#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Memory that a decoded `Data` may keep instead of a copy, if the bytes being read lie there.
///
/// The owner reads the bytes as long as it holds this object, and no longer. Until then this object refers to the value
/// that it has lent, and a `Data` that something else refers to copies its bytes before they are changed. So whatever a
/// program does with the value, on whatever thread, the owner finds the bytes as they were.
///
/// Not thread-safe: the thread that decodes uses it.
package final class LentBytes {
    private let bytes: UnsafeRawBufferPointer
    private let memory: AnyObject
    /// A value of fewer bytes is copied: it would keep more memory from being used again than it fills.
    private let least: Int
    /// The value that has been lent; as each value is at least half of the memory, no other can be.
    private var lent: Data?
    /// By how many bytes a value begins behind a multiple of ``alignment``, so that it was not lent; 0 if none did.
    package private(set) var misfit = 0

    /// Programs may read larger types out of a `Data`, whose memory is aligned for all of them if it is its own.
    package static let alignment = 16

    /// - Parameters:
    ///   - bytes: what is lent; nothing but this object and its owner refers to them, and nothing else writes there.
    ///   - capacity: how much memory a value keeps, in bytes.
    ///   - memory: keeps the bytes in place; released on any thread when neither this object nor a value needs them.
    package init(_ bytes: UnsafeRawBufferPointer, capacity: Int, memory: AnyObject) {
        self.bytes = bytes
        self.memory = memory
        least = max((capacity + 1) / 2, 1)
    }

    /// A value that has these bytes as its memory; nil if they are to be copied.
    func data(_ content: UnsafeRawBufferPointer) -> Data? {
        guard content.count >= least, let start = content.baseAddress, let first = bytes.baseAddress, start >= first,
            start + content.count <= first + bytes.count
        else { return nil }
        misfit = Int(bitPattern: start) % Self.alignment
        if misfit > 0 { return nil }
        if let lent {
            // Bytes that are decoded twice have to be one value: two would not see that the other refers to them.
            let isSame = lent.withUnsafeBytes { $0.baseAddress == start && $0.count == content.count }
            return isSame ? lent : nil
        }
        let made = Data(
            bytesNoCopy: UnsafeMutableRawPointer(mutating: start),
            count: content.count,
            deallocator: .custom { [memory] _, _ in withExtendedLifetime(memory) {} }
        )
        lent = made
        return made
    }
}

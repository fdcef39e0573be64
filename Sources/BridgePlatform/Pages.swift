#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Memory straight from the operating system; what the caller gives back returns to the system without delay.
///
/// This is for blocks of hundreds of thousands of bytes that come and go on many threads. An allocator keeps such
/// blocks for their next use, separately for each thread, and so a process that was once busy stays large.
package enum Pages {
    /// Fresh memory, all 0.
    ///
    /// The memory takes room only where it is written. If there is no room, the program ends, as with an allocation.
    package static func take(_ byteCount: Int) -> UnsafeMutableRawPointer {
        let address = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
        guard let address, address != MAP_FAILED else {
            preconditionFailure("the system has no \(byteCount) bytes of memory left")
        }
        return address
    }

    /// Gives back what ``take(_:)`` has returned for this size.
    package static func giveBack(_ address: UnsafeMutableRawPointer, _ byteCount: Int) {
        munmap(address, byteCount)
    }
}

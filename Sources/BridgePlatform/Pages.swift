#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Memory straight from the operating system; the system has it back the moment it is given back.
///
/// For blocks that come and go by the hundred thousand bytes on many threads: an allocator keeps them for their next
/// use, each thread's apart, and a process that was once busy stays large.
package enum Pages {
    /// Fresh memory, all 0.
    ///
    /// It takes room only where it is written. Ends the program if there is none, as an allocation does.
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

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Bytes before a page that no code may touch: a read beyond their end is fatal, in every build.
package final class GuardedBytes {
    private let pages: UnsafeMutableRawPointer
    private let byteCount: Int
    package let bytes: UnsafeMutableRawBufferPointer

    package struct Unavailable: Error {}

    package init(_ content: some Collection<UInt8>) throws {
        let page = Int(getpagesize())
        let used = (content.count + page - 1) / page * page
        byteCount = used + page
        guard let pages = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0),
            pages != MAP_FAILED, mprotect(pages + used, page, PROT_NONE) == 0
        else { throw Unavailable() }
        self.pages = pages
        bytes = UnsafeMutableRawBufferPointer(start: pages + used - content.count, count: content.count)
        bytes.copyBytes(from: content)
    }

    deinit {
        munmap(pages, byteCount)
    }
}

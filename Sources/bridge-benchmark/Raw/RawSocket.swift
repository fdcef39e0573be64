#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A blocking socket, used with plain system calls; its speed is the base that the bridge is compared with.
struct RawSocket {
    let descriptor: CInt

    /// Writes all bytes, however long that takes.
    @inline(__always)
    func write(_ bytes: UnsafeMutableRawPointer, _ count: Int) {
        var done = 0
        while done < count {
            let written = systemWrite(descriptor, bytes + done, count - done)
            if written <= 0 {
                if written < 0, errno == EINTR { continue }
                Report.fail("the raw socket cannot be written: error \(errno)")
            }
            done += written
        }
    }

    /// Reads the bytes that have arrived, waits if there are none, and returns how many were read; 0 at the end.
    @inline(__always)
    func readSome(_ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
        while true {
            let result = systemRead(descriptor, bytes, count)
            if result >= 0 { return result }
            if errno != EINTR { Report.fail("the raw socket cannot be read: error \(errno)") }
        }
    }

    /// Reads exactly `count` bytes; false if the end came before these bytes.
    @inline(__always)
    func read(_ bytes: UnsafeMutableRawPointer, _ count: Int) -> Bool {
        var done = 0
        while done < count {
            let more = readSome(bytes + done, count - done)
            if more == 0 { return false }
            done += more
        }
        return true
    }
}

// These functions are outside the type, because its methods hide the system calls of the same names.
@inline(__always)
private func systemRead(_ descriptor: CInt, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, bytes, count)
}

@inline(__always)
private func systemWrite(_ descriptor: CInt, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}

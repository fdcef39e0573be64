package import BridgePlatform

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Lets a blocking `receive` end with `wouldBlock` after `milliseconds`, so that a test fails instead of hanging.
package func setReceiveTimeout(_ socket: CInt, milliseconds: Int) throws(SystemError) {
    var limit = timeval(tv_sec: milliseconds / 1000, tv_usec: .init(milliseconds % 1000 * 1000))
    try SystemError.check("setting the receive timeout of descriptor \(socket)") {
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
}

import CBridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A process for whose end a thread can wait, whether or not this process has started it.
package final class OtherProcess: Sendable {
    /// Readable once the process has ended, whether or not its parent has taken its status.
    private let handle: SharedDescriptor

    /// - Parameter process: the number of a process that has not ended yet; after its end, another process may get the
    ///   number.
    package init(_ process: Int32) throws(SystemError) {
        let descriptor = try SystemError.check("watching process \(process)") { cbp_process_open(process) }
        handle = SharedDescriptor(FileDescriptor(owning: descriptor))
    }

    /// Waits until the process has ended; the calling thread blocks.
    ///
    /// - Returns: False if the time was over first.
    package func ends(withinMilliseconds limit: CInt) -> Bool {
        waitUntilReady(handle.rawValue, for: POLLIN, milliseconds: limit)
    }
}

import BridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A process that outlives the worker which has started it.
enum Grandchild {
    /// Leaves a process behind that holds this one's standard output and standard error, and tells its number on the former.
    ///
    /// - Parameter holdingLink: whether it also gets the link's descriptor, which is not close-on-exec before the worker's
    ///   runtime has taken it over.
    static func leave(holdingLink: Bool) {
        if !holdingLink, let link = CurrentProcess.environment("EVENT_BRIDGE_FD").flatMap({ CInt($0) }) {
            guard (try? FileDescriptor.setCloseOnExec(link)) != nil else { return }
        }
        system("sleep 300 & echo \"grandchild $!\"")
    }
}

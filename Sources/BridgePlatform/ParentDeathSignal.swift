import CBridgePlatform

#if canImport(Glibc)
package import Glibc
#elseif canImport(Darwin)
package import Darwin
#endif

/// Lets a process die with its parent, however the parent dies.
package enum ParentDeathSignal {
    package enum Outcome: Equatable, Sendable {
        case armed

        /// The parent has died, perhaps too early for the signal, which then never comes: the caller should end now.
        case parentIsGone

        /// This system has no such signal: the process has to notice the parent's death in another way.
        case unsupported
    }

    /// Asks the kernel to send `signal` to this process when its parent dies.
    ///
    /// Call it on the main thread: the request lasts only as long as the thread that made it. The kernel sends the
    /// signal when the parent's *thread* that spawned this process ends; the thread that spawns for `ChildProcess`
    /// never ends.
    package static func arm(_ signal: CInt, expectedParent: pid_t) throws(SystemError) -> Outcome {
        if cbp_arm_parent_death_signal(signal) != 0 {
            let error = SystemError.current("asking for signal \(signal) at the parent's death")
            if error.code == ENOTSUP { return .unsupported }
            throw error
        }
        // The parent is checked after the arming, because a parent that died earlier sends no signal.
        return getppid() == expectedParent ? .armed : .parentIsGone
    }
}

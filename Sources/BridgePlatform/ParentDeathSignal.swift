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

        /// The parent had died before the signal was armed, so the signal will never come: the caller should end now.
        case parentIsGone

        /// This system has no such signal: only the end of the connection shows that the parent has died.
        case unsupported
    }

    /// Asks the kernel to send `signal` to this process when its parent dies.
    ///
    /// Call it on the main thread: the request lasts only as long as the thread that made it. The kernel sends the
    /// signal at the end of the parent's *thread* that spawned this process; the thread that spawns for `ChildProcess`
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

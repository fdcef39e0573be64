/// How a child process ended.
package enum ExitStatus: Equatable, Hashable, Sendable, CustomStringConvertible {
    case exited(code: CInt)
    case signaled(signal: CInt, coreDumped: Bool)

    /// The child is gone, but something else in this process waited for it and took its status away: a call like
    /// `waitpid(-1)`, or SIGCHLD being ignored.
    case reapedElsewhere

    package var description: String {
        switch self {
        case .exited(let code): "exited with code \(code)"
        case .signaled(let signal, let dumped): "ended by signal \(signal)\(dumped ? " (core dumped)" : "")"
        case .reapedElsewhere: "ended, its status taken by other code of this process"
        }
    }
}

/// The resources that a child process has used in all, including those of its own children for which it waited.
package struct ResourceUse: Equatable, Sendable {
    package let userMicroseconds: UInt64
    package let systemMicroseconds: UInt64

    /// The most bytes in RAM at once, of the child or of a child of its own; nil if that may be this process's peak.
    ///
    /// Until the child's program begins, Linux counts this process's peak as the child's.
    package let peakResidentBytes: UInt64?

    package init(userMicroseconds: UInt64, systemMicroseconds: UInt64, peakResidentBytes: UInt64?) {
        self.userMicroseconds = userMicroseconds
        self.systemMicroseconds = systemMicroseconds
        self.peakResidentBytes = peakResidentBytes
    }
}

/// The end of a child process.
package struct ChildExit: Equatable, Sendable {
    package let status: ExitStatus

    /// The resources that the child has used; `nil` when the child was reaped elsewhere.
    package let resourceUse: ResourceUse?

    package init(status: ExitStatus, resourceUse: ResourceUse?) {
        self.status = status
        self.resourceUse = resourceUse
    }
}

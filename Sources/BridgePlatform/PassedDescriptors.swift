#if canImport(Glibc)
package import Glibc
#elseif canImport(Darwin)
package import Darwin
#endif

/// The descriptors that a service manager has opened and passes to a process that it starts: systemd's protocol,
/// sd_listen_fds(3).
package struct PassedDescriptors: Equatable, Sendable {
    /// The numbers of the descriptors, in the order of the manager's configuration.
    package let numbers: Range<CInt>
    /// The manager's names for the descriptors, as far as it gives names.
    package let names: [String]

    /// The first number after those of the standard streams.
    package static let first: CInt = 3

    private static let processVariable = "LISTEN_PID"
    private static let countVariable = "LISTEN_FDS"
    private static let namesVariable = "LISTEN_FDNAMES"

    /// The variables by which the manager describes the descriptors to a process; other processes must not get these
    /// variables, or they might take the descriptors for theirs.
    package static let variables = [processVariable, countVariable, namesVariable, "LISTEN_PIDFDID"]

    /// - Parameters:
    ///   - environment: reads a variable.
    ///   - process: the number of this process.
    ///   - first: the number of the first descriptor.
    /// - Returns: The descriptors; nil if none were passed.
    package init?(
        environment: (String) -> String?,
        process: pid_t,
        first: CInt = Self.first
    ) throws(PassedDescriptorsError) {
        guard let stated = environment(Self.processVariable), let text = environment(Self.countVariable) else {
            return nil
        }
        guard let receiver = pid_t(stated), receiver > 0 else {
            throw .malformed(Self.processVariable, found: stated)
        }
        guard let count = CInt(text), count >= 0, count < CInt.max - first else {
            throw .malformed(Self.countVariable, found: text)
        }
        if count == 0 { return nil }
        guard receiver == process else { throw .forAnotherProcess(receiver, own: process) }
        numbers = first..<(first + count)
        names =
            environment(Self.namesVariable)?.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            ?? []
    }

    /// Removes ``variables`` from the environment of this process.
    ///
    /// Call this at the beginning of `main`, because no other thread may read the environment meanwhile.
    package static func forget() {
        for variable in variables { CurrentProcess.unsetEnvironment(variable) }
    }
}

/// The reason why none of the descriptors that a service manager passes is taken.
package enum PassedDescriptorsError: Error, Equatable, Sendable, CustomStringConvertible {
    case malformed(String, found: String)
    case forAnotherProcess(pid_t, own: pid_t)

    package var description: String {
        switch self {
        case .malformed(let variable, let found): "\(variable) is \"\(found)\", expected a number"
        case .forAnotherProcess(let receiver, let own):
            """
            the sockets that the service manager passes are for process \(receiver) (LISTEN_PID), and this is process \(own): it has to \
            be started by the manager itself, or by a shell's exec
            """
        }
    }
}

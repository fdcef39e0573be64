#if canImport(Glibc)
package import Glibc
#elseif canImport(Darwin)
package import Darwin
#endif

/// The descriptors that a service manager has opened and passes to a process that it starts: systemd's protocol,
/// sd_listen_fds(3).
package struct PassedDescriptors: Equatable, Sendable {
    /// In the order of the manager's configuration.
    package let numbers: Range<CInt>
    /// What the manager calls them, as far as it says so.
    package let names: [String]

    /// Beyond the standard streams.
    private static let first: CInt = 3

    private static let processVariable = "LISTEN_PID"
    private static let countVariable = "LISTEN_FDS"
    private static let namesVariable = "LISTEN_FDNAMES"

    /// The variables by which the manager tells a process of them; other processes must not get these, as they would
    /// take the descriptors for theirs.
    package static let variables = [processVariable, countVariable, namesVariable, "LISTEN_PIDFDID"]

    /// - Parameters:
    ///   - environment: reads a variable.
    ///   - process: the number of this process.
    /// - Returns: nil if there are none.
    package init?(environment: (String) -> String?, process: pid_t) throws(PassedDescriptorsError) {
        guard let stated = environment(Self.processVariable), let text = environment(Self.countVariable) else {
            return nil
        }
        guard let receiver = pid_t(stated), receiver > 0 else {
            throw .malformed(Self.processVariable, found: stated)
        }
        guard let count = CInt(text), count >= 0, count < CInt.max - Self.first else {
            throw .malformed(Self.countVariable, found: text)
        }
        if count == 0 { return nil }
        guard receiver == process else { throw .forAnotherProcess(receiver, own: process) }
        numbers = Self.first..<(Self.first + count)
        names =
            environment(Self.namesVariable)?.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            ?? []
    }

    /// Removes ``variables`` from the environment of this process.
    ///
    /// Not to be called while another thread reads the environment: at the beginning of `main` there is none.
    package static func forget() {
        for variable in variables { CurrentProcess.unsetEnvironment(variable) }
    }
}

/// Why nothing is taken of what a service manager passes.
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

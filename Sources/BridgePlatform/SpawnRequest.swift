#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What a new process is to have: it gets no arguments, environment or descriptors but those that are named here.
package struct SpawnRequest: Sendable {
    /// Where one of the three standard streams leads.
    package enum Stream: Equatable, Sendable {
        /// A stream that reads nothing and swallows everything.
        case nullDevice

        /// The same stream of this process, shared; the null device if this process's stream is closed.
        case inherit

        /// A descriptor of this process, which stays this process's own.
        case descriptor(CInt)
    }

    /// A further descriptor of the child.
    package struct Passed: Equatable, Sendable {
        /// The descriptor's number in the child, from 3 to 255.
        package let child: CInt

        /// A descriptor of this process, which stays this process's own.
        package let parent: CInt

        package init(child: CInt, parent: CInt) {
            self.child = child
            self.parent = parent
        }
    }

    /// Path of the program.
    ///
    /// It is not searched for in PATH, and a script without `#!` is refused.
    package var executable: String

    /// The name that the program gets as `argv[0]`; the path if `nil`.
    package var name: String?

    /// The arguments after the name.
    package var arguments: [String] = []

    /// The whole environment: nothing of this process's is added.
    package var environment: [String: String] = [:]

    /// The variable with the settings of the Swift runtime's backtracer.
    ///
    /// Where a toolchain is installed, the backtracer catches the first signal of a crash, or SIGABRT from the
    /// supervisor. It then prints for seconds, and lets the process live on.
    package static let backtraces = "SWIFT_BACKTRACE"

    /// The settings that turn the backtracer off.
    ///
    /// They name a path for its program, because without one the runtime looks for the program at each start, even if
    /// the backtracer is off: it goes through the symbols of its library, which takes a tenth of a millisecond.
    package static let noBacktraces = "enable=no,swift-backtrace=/dev/null"

    /// Where the program starts; this process's working directory if `nil`.
    package var workingDirectory: String?

    package var standardInput = Stream.nullDevice
    package var standardOutput = Stream.nullDevice
    package var standardError = Stream.nullDevice

    /// Descriptors besides the standard streams.
    ///
    /// All others are closed in the child.
    package var descriptors: [Passed] = []

    /// Whether the processes that the child leaves in its process group are killed when the child's exit is noticed.
    ///
    /// They are killed before the child is reaped, while its number cannot belong to another process. Processes that
    /// have left the group, as by setsid, are not killed. On Darwin and before Linux 6.9, no process of the group is
    /// killed if other code has reaped the child.
    package var killsGroupOnExit = true

    /// Whether the kernel kills the child when this process dies, however it dies.
    ///
    /// The child asks for that before its program begins. Where the system knows no such request, as on Darwin, or
    /// drops it, as for a set-user-ID program, the child lives on unless a guard kills it.
    package var diesWithParent = false

    /// The connection on which the child reports itself to a `ProcessGuard` before its program begins; `nil` for none.
    package var guardDescriptor: CInt?

    /// What the child may use up and touch; `nil` for everything that this process may use up and touch.
    package var box: SpawnBox?

    /// Whether the child has no program, and ends as soon as its box is closed.
    let isProbe: Bool

    package init(executable: String) {
        self.executable = executable
        isProbe = false
    }

    /// A child that closes the box around itself and ends, to find out what this system lacks.
    package init(probing box: SpawnBox) {
        executable = ""
        self.box = box
        isProbe = true
    }
}

/// Why there is no new process.
package enum SpawnError: Error, Equatable, Sendable, CustomStringConvertible {
    /// A part of the request that cannot be handed to a process, and why.
    case invalidArgument(name: String, reason: String)

    /// The operating system refused, or the program did not begin in time.
    case failed(SystemError)

    /// This system does not have what the box of the process needs; the sentence says what.
    case boxUnavailable(String)

    package var description: String {
        switch self {
        case .invalidArgument(let name, let reason): "\(name) cannot be handed to a new process: \(reason)"
        case .failed(let error): error.description
        case .boxUnavailable(let sentence): sentence
        }
    }

    /// The error number of ``failed(_:)``; `nil` for the other errors.
    package var code: CInt? {
        if case .failed(let error) = self { error.code } else { nil }
    }
}

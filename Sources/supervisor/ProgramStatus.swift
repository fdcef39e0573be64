/// The exit statuses of the program, with the numbers of `sysexits.h`.
enum ProgramStatus: Int32, Sendable {
    case success = 0
    /// The command line is wrong.
    case usage = 64
    /// With `--strict`: a line of the input is wrong.
    case badInput = 65
    /// The configuration or the input cannot be read.
    case noInput = 66
    /// A worker was given up.
    case workerUnavailable = 69
    /// The operating system refused something that nothing goes without.
    case system = 71
    /// Stopped with events that nobody has handled.
    case unhandledEvents = 75
    /// The configuration has mistakes.
    case configuration = 78
}

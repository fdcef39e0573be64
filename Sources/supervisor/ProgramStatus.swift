/// The exit statuses of the program; all except 1 are from `sysexits.h`, which has no status for a negative answer.
enum ProgramStatus: Int32, Sendable {
    case success = 0
    /// A request was answered by the event that means failure.
    case failingAnswer = 1
    /// The command line is wrong.
    case usage = 64
    /// With `--strict`: a line of the input is wrong.
    case badInput = 65
    /// The configuration or the input cannot be read.
    case noInput = 66
    /// A worker was given up, or no supervisor answered.
    case workerUnavailable = 69
    /// The operating system refused something that the program needs, or the control socket cannot be made.
    case system = 71
    /// Output cannot be written: the disk is full, or the file must not be written.
    case output = 74
    /// The run stopped with events that were not handled.
    case unhandledEvents = 75
    /// The supervisor belongs to another user.
    case notPermitted = 77
    /// The configuration has mistakes.
    case configuration = 78
}

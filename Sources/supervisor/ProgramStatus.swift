/// The exit statuses of the program, with the numbers of `sysexits.h`, none of which stands for a plain no.
enum ProgramStatus: Int32, Sendable {
    case success = 0
    /// A request was answered by the event that stands for its failure.
    case failingAnswer = 1
    /// The command line is wrong.
    case usage = 64
    /// With `--strict`: a line of the input is wrong.
    case badInput = 65
    /// The configuration or the input cannot be read.
    case noInput = 66
    /// A worker was given up, or no supervisor answers.
    case workerUnavailable = 69
    /// The operating system refused something that nothing goes without, or the control socket cannot be made.
    case system = 71
    /// What was to be written cannot be: the disk is full, or the file may not be.
    case output = 74
    /// Stopped with events that were not handled.
    case unhandledEvents = 75
    /// Another user's supervisor was to be spoken to.
    case notPermitted = 77
    /// The configuration has mistakes.
    case configuration = 78
}

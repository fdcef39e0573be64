/// The exit statuses of the program; all except 1 are from `sysexits.h`, which has no status for a negative answer.
enum ProgramStatus: Int32, Sendable {
    case success = 0
    /// A request was answered by the event that means failure.
    case failingAnswer = 1
    /// The command line is wrong, or names something that does not exist.
    case usage = 64
    /// Input was wrong or refused (for `run`, only with `--strict`), or a journal lacks events.
    case badInput = 65
    /// The configuration, the input or a journal cannot be read.
    case noInput = 66
    /// A worker was given up or is down, no process wants the event, no supervisor answered, or another process has the
    /// journal open.
    case workerUnavailable = 69
    /// The operating system refused something that the program needs; or `run` cannot open its journal, make its
    /// control socket, or read what a killed supervisor has left.
    case system = 71
    /// Output cannot be written, for example because the disk is full; or a journal's last events are not safe.
    case output = 74
    /// Events were not handled, or a command was refused or not done in time.
    case unhandledEvents = 75
    /// The supervisor belongs to another user.
    case notPermitted = 77
    /// The configuration has mistakes.
    case configuration = 78
}

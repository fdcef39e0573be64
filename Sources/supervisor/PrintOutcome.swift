/// What became of lines that a command has printed.
///
/// A command that only shows something has nothing left to do once its reader has gone. A command that also does
/// something else goes on.
enum PrintOutcome: Sendable, Hashable {
    case printed
    /// The reader has closed the output; that is no failure.
    case readerGone
    /// The output cannot be written; the reason was reported.
    case failed

    var status: ProgramStatus { self == .failed ? .output : .success }
}

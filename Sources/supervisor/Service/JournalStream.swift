import BridgePlatform

/// Whether systemd's journal reads standard error, and the levels that lines then begin with: sd-daemon(3).
enum JournalStream {
    /// The levels of syslog(3) that this program uses; a line of the level `warning` begins with `<4>`.
    enum Level: Int, Sendable {
        case error = 3
        case warning = 4
        case notice = 5
        case information = 6
    }

    /// Whether the journal reads standard error: the variable names the file to which standard error leads.
    ///
    /// - Parameter variable: the value of `JOURNAL_STREAM`, `DEVICE:INODE`.
    static func isAttached(_ variable: String?, to file: FileStatus.Identity?) -> Bool {
        guard let variable, let file else { return false }
        return variable == "\(file.device):\(file.number)"
    }
}

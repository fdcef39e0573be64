import BridgePlatform

/// How a line on standard error tells the journal of systemd how grave it is: by `<4>` in front, sd-daemon(3).
enum JournalStream {
    /// The levels of syslog(3) that there is a use for.
    enum Level: Int, Sendable {
        case error = 3
        case warning = 4
        case notice = 5
        case information = 6
    }

    /// Whether standard error is what the journal reads, and not a file that was put in its place.
    ///
    /// - Parameter variable: the value of `JOURNAL_STREAM`, `DEVICE:INODE`.
    static func isAttached(_ variable: String?, to file: FileStatus.Identity?) -> Bool {
        guard let variable, let file else { return false }
        return variable == "\(file.device):\(file.number)"
    }
}

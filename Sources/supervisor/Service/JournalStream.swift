import BridgePlatform

/// Tells systemd's journal the level of a line on standard error, by `<4>` in front of the line: sd-daemon(3).
enum JournalStream {
    /// The levels of syslog(3) that are used here.
    enum Level: Int, Sendable {
        case error = 3
        case warning = 4
        case notice = 5
        case information = 6
    }

    /// Whether the journal reads standard error, and no file was put in its place.
    ///
    /// - Parameter variable: the value of `JOURNAL_STREAM`, `DEVICE:INODE`.
    static func isAttached(_ variable: String?, to file: FileStatus.Identity?) -> Bool {
        guard let variable, let file else { return false }
        return variable == "\(file.device):\(file.number)"
    }
}

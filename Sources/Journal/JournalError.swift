import BridgePlatform

/// Why a journal could not do what it was asked for.
public struct JournalError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Sendable, Hashable {
        /// This process or another process has the journal open.
        case inUse
        /// Other users own or may use the directory, or its file system cannot keep a journal.
        case unsuitableDirectory
        /// A file is damaged or of a later version of the format, and the journal cannot go on after it.
        case damaged
        /// A file belongs to another journal.
        case foreign
        /// There is no room for another segment.
        case full
        /// The event does not fit into a segment, or cannot be encoded.
        case notRecordable
        /// A recorded event has another form than its reader asked for.
        case undecodable
        /// A reader asked for events after a position that the journal has not reached.
        case positionAhead
        /// The journal was closed.
        case closed
        /// The operating system refused something; after a failed write or synchronization, the journal stays closed.
        case system
    }

    /// The kind of failure.
    public let code: Code

    /// What went wrong, in a sentence.
    public let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    init(_ error: SystemError, at path: String) {
        self.init(error.isFullDisk ? .full : .system, "the journal \(path): \(error)")
    }
}

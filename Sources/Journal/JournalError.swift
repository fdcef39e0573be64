import BridgePlatform

/// Why a journal could not do what it was asked for.
public struct JournalError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Sendable, Hashable {
        /// Another process has the journal open, or this one has.
        case inUse
        /// The directory is not of this user alone, or lies on a file system that cannot keep a journal.
        case unsuitableDirectory
        /// A file of the journal cannot be read, and the journal does not go on behind it.
        case damaged
        /// A file was written by a later version of the format, or belongs to another journal.
        case foreign
        /// There is no room for another segment.
        case full
        /// The event does not fit into a segment, or cannot be encoded.
        case notRecordable
        /// A reader asked for what comes behind a position that the journal has not reached.
        case positionAhead
        /// The journal was closed.
        case closed
        /// The operating system refused something; if that was to make events durable, the journal is closed for good.
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

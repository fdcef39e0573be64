import BridgePlatform

/// Why a journal could not do what it was asked for.
public struct JournalError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Sendable, Hashable {
        /// This process or another process has the journal, or the projection's file, open.
        case inUse
        /// Other users own or may use the directory, or its file system or content does not suit the call.
        case unsuitableDirectory
        /// A file is damaged, or of a later version or revision, and the call cannot do without the file.
        case damaged
        /// A file belongs to another journal or projection, or a projection's file contradicts the journal.
        case foreign
        /// The file system has no room for a segment, a record or a projection's file.
        case full
        /// An event or a projection's state is too large or cannot be encoded, or a type is a report about the bridge.
        case notRecordable
        /// A recorded event has another form than its reader asked for, or an upcaster's value cannot be encoded.
        case undecodable
        /// A reader or a projection's file is at a position that the journal has not reached.
        case positionAhead
        /// The journal was closed, or the projection has ended.
        case closed
        /// The operating system refused something; after a failed write or synchronization of a segment, the journal
        /// stays closed.
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

    /// The error of a call that only reads.
    init(reading error: SystemError, at path: String) {
        if error.isUnreadable {
            let remedy = "the disk cannot read a part of the journal; to go on, salvage the rest into a new journal"
            self.init(.system, "the journal \(path): \(error); \(remedy)")
        } else {
            self.init(error, at: path)
        }
    }
}

/// A mark that a worker puts on an event to say how far the worker has come, such as the place in the file or stream
/// from which the worker read the event.
///
/// A host whose journal records the event keeps the mark in the same record, so the journal has both or neither. If
/// both processes are killed, the worker learns its last bookmark when it starts again, and goes on behind that place.
public struct EventBookmark: Sendable, Hashable {
    /// How many bytes a bookmark has at most: 256.
    public static let longest = 256

    /// The mark itself; only the worker that has put it on an event knows its meaning.
    public let bytes: [UInt8]

    /// Makes a bookmark of these bytes; calls that publish or send an event with more than ``longest`` of them throw.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Makes a bookmark of the text in UTF-8.
    public init(_ text: String) { bytes = Array(text.utf8) }

    /// The bookmark as a text; nil if its bytes are not UTF-8.
    public var text: String? { String(validating: bytes, as: UTF8.self) }
}

/// A bookmark with the worker whose place it marks.
///
/// An object, because nearly all contexts have no bookmark: the reference takes only one word.
package final class WorkerBookmark: Sendable, CustomStringConvertible {
    package let worker: String
    package let bookmark: EventBookmark

    package init(_ bookmark: EventBookmark, of worker: String) {
        self.worker = worker
        self.bookmark = bookmark
    }

    package var description: String { "\(worker) \(bookmark.bytes)" }
}

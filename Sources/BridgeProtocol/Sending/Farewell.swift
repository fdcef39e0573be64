/// A side's goodbye: it leaves after everything that has to come before it, and nothing leaves after it.
package struct Farewell: Sendable, Hashable {
    /// The goodbye; nil until this side says goodbye.
    private var goodbye: Goodbye?
    /// The newest event that lay in the outbox when the goodbye was said.
    private var mark: UInt64 = 0
    /// Whether the goodbye has been handed out for writing.
    package private(set) var hasLeft = false
    /// Whether the goodbye was said and has not been handed out for writing.
    ///
    /// The property is stored, because each batch reads it, and a getter in another module would copy this whole value.
    package private(set) var isWaiting = false

    package init() {}

    /// What lies in a side's outbox, and before it.
    package struct Remainder: Sendable, Hashable {
        /// The newest event that was handed out for writing.
        package let lastComposed: UInt64
        /// The newest event in the outbox.
        package let lastSequence: UInt64
        /// Whether nothing waits before the outbox.
        package let isQueueEmpty: Bool
        /// Whether the peer shares the outbox's memory, and so finds in it the events that never left.
        package let isShared: Bool

        package init(lastComposed: UInt64, lastSequence: UInt64, isQueueEmpty: Bool, isShared: Bool) {
            self.lastComposed = lastComposed
            self.lastSequence = lastSequence
            self.isQueueEmpty = isQueueEmpty
            self.isShared = isShared
        }
    }

    /// This side says goodbye, with `last` as the newest event in the outbox; only the first call counts.
    package mutating func said(_ reason: Goodbye.Reason, text: String, behind last: UInt64) {
        guard goodbye == nil else { return }
        // `lastWritten` and `handledMark` are known only when the goodbye leaves.
        goodbye = Goodbye(reason: reason.rawValue, text: text, lastWritten: 0, handledMark: 0)
        mark = last
        isWaiting = true
    }

    /// Whether the goodbye leaves with this batch: everything that has to come before it has been handed out.
    ///
    /// Events that are put into shared memory after the goodbye need no stream, so threads that go on publishing do not
    /// delay the goodbye.
    package func mayLeave(behind remainder: Remainder) -> Bool {
        guard isWaiting else { return false }
        if remainder.isShared { return remainder.lastComposed >= mark }
        return remainder.lastComposed == remainder.lastSequence && remainder.isQueueEmpty
    }

    /// The goodbye leaves.
    ///
    /// - Parameters:
    ///   - last: the newest event that has left before it.
    ///   - mark: all events of the peer up to this one are handled.
    /// - Returns: The goodbye to write; nil if none was said, or it has left before.
    package mutating func leaves(behind last: UInt64, handled mark: UInt64) -> Goodbye? {
        guard let goodbye, !hasLeft else { return nil }
        hasLeft = true
        isWaiting = false
        return Goodbye(reason: goodbye.reason, text: goodbye.text, lastWritten: last, handledMark: mark)
    }
}

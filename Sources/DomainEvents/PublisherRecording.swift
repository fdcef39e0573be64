import Locks

/// The recorder of a publisher's events, for a bridge: it keeps the events that are owed to workers and the bookmarks
/// of workers, and reports on itself.
package final class PublisherRecording: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private weak var recorder: (any EventRecording)?
    private var awaited: Set<EventName> = []

    /// Makes this recorder the publisher's, unless the publisher has one already that is not over.
    ///
    /// A recorder that is over may live on, because a reader of its files refers to it.
    ///
    /// - Parameter names: the recorder records events of these names once this process uses types of these names.
    /// - Returns: Whether the recorder has become the publisher's now. Then the caller calls
    ///   ``AnyEventChannel/keepCustody(by:)`` for the channels that it records already.
    @discardableResult
    package func offer(_ recorder: any EventRecording, awaiting names: Set<EventName> = []) -> Bool {
        var over: (any EventRecording)?
        while true {
            let present = lock.withLock {
                let present = self.recorder
                if present === over {
                    self.recorder = recorder
                    awaited = names
                } else if present === recorder {
                    awaited.formUnion(names)
                }
                return present
            }
            // Outside the lock: a recorder takes a lock of its own, and a last reference may be released here.
            if present === over { return true }
            if let present, !present.isOver { return false }
            over = present
        }
    }

    /// The publisher's recorder; nil if there is none.
    package var present: (any EventRecording)? { lock.withLock { recorder } }

    /// Whether this recorder is the publisher's.
    package func isKept(by recorder: any EventRecording) -> Bool { present === recorder }

    /// Whether the recorder records events of this name, if perhaps not before this process uses a type of the name.
    package func awaits(_ name: String) -> Bool { lock.withLock { awaited.contains(EventName(name)) } }

    /// Notes what became of recorded events; does nothing without a recorder.
    package func note(_ note: CustodyNote) { present?.note(note) }

    /// Hands over what earlier hosts had not seen settled; nothing without a recorder.
    package func takeOwed() -> [OwedEvent] { present?.takeOwed() ?? [] }

    /// A worker's last bookmark that is as safe as the recorder promises; the calling thread waits for that.
    package func lastBookmark(of worker: String) -> KeptBookmark {
        present?.lastBookmark(of: worker) ?? .notKept
    }

    /// The directory in which a host may keep its workers' outboxes; nil if there is none.
    package var outboxDirectory: String? { present?.outboxDirectory }

    /// The recorder's present positions and sizes; nil if there is no recorder.
    package var report: RecordingReport? { present?.report }
}

/// What a host tells a worker about the worker's bookmarks.
package enum KeptBookmark: Sendable, Hashable {
    /// The worker's last bookmark; nil if there is none yet.
    case last(EventBookmark?)
    /// No bookmarks are kept.
    case notKept
}

/// A recorder's positions and sizes at one moment.
package struct RecordingReport: Sendable, Hashable {
    package var firstPosition: UInt64
    package var lastPosition: UInt64
    /// The position up to which all events are as safe as the recorder promises.
    package var safePosition: UInt64
    /// How long events have been waiting to become safe; nil if all are safe.
    package var unsafeNanoseconds: UInt64?
    package var segments: Int
    package var bytes: Int
    /// Why the recorder takes no more events, or lacks the room for its next file; nil if neither is so.
    package var failure: String?
    /// The position of the oldest event that is owed to a worker or kept as a dead letter; nil if there is none.
    package var owedPosition: UInt64?
    /// How long ago that event was published; nil if there is none.
    package var owedNanoseconds: UInt64?

    package init(
        firstPosition: UInt64,
        lastPosition: UInt64,
        safePosition: UInt64,
        unsafeNanoseconds: UInt64?,
        segments: Int,
        bytes: Int,
        failure: String?,
        owedPosition: UInt64? = nil,
        owedNanoseconds: UInt64? = nil
    ) {
        self.firstPosition = firstPosition
        self.lastPosition = lastPosition
        self.safePosition = safePosition
        self.unsafeNanoseconds = unsafeNanoseconds
        self.segments = segments
        self.bytes = bytes
        self.failure = failure
        self.owedPosition = owedPosition
        self.owedNanoseconds = owedNanoseconds
    }
}

import BridgePlatform
import BridgeProtocol
import DomainEvents
import Locks

/// What is noted of events on their way out, while somebody wants to know.
extension Link {
    /// Begins to note, or ceases to.
    ///
    /// - Parameter recorder: nil to cease.
    package func setTrace(_ recorder: SpanRecorder?) {
        lock.withLock {
            if let recorder {
                trace = trace ?? LinkTrace(recorder: recorder, peer: peerName)
            } else {
                trace = nil
            }
        }
    }

    /// An event has been put into the outbox.
    ///
    /// With the lock held.
    func traceAppended(_ name: String, _ context: EventContext, attempt: UInt64) {
        guard name != EventsTraced.eventName else { return }
        trace?.appended(
            outbox.lastSequence,
            name,
            context,
            attempt: Int(clamping: attempt),
            at: MonotonicClock.now()
        )
    }
}

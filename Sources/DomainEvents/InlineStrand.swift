/// Runs the inline handlers of the events from one link: one event after the other, in the order of arrival.
///
/// Only the thread that reads the link calls ``touch()``, ``enter()`` and ``append(_:)``.
package protocol InlineStrand: AnyObject, Sendable {
    /// Called before handlers on queues or in tasks get the event in hand.
    func touch()

    /// Lets the calling thread run the handlers of the event in hand now; if this returns true, ``leave()`` follows.
    ///
    /// - Returns: False while another thread is in the handlers of an earlier event.
    func enter() -> Bool

    /// Called when the handlers have returned.
    func leave()

    /// Runs the handlers of the event in hand after the handlers of earlier events: later, or at once if the earlier
    /// handlers have returned.
    func append(_ work: @escaping @Sendable () -> Void)
}

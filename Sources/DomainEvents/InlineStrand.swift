/// Runs the inline handlers of the events from one link: one event after the other, in the order of arrival.
///
/// Only the thread that reads the link calls ``touch()``, ``enter()`` and ``append(_:)``.
package protocol InlineStrand: AnyObject, Sendable {
    /// Called when handlers elsewhere are about to get the event in hand.
    func touch()

    /// Whether the calling thread may run the handlers of the event in hand now; if so, ``leave()`` follows.
    ///
    /// It may not while another thread is in the handlers of an earlier event.
    func enter() -> Bool

    /// Called when the handlers have returned.
    func leave()

    /// Runs the handlers of the event in hand after those of earlier events: later, or now if those have returned
    /// meanwhile.
    func append(_ work: @escaping @Sendable () -> Void)
}

/// Where the inline handlers of the events that one link brings run: one event after the other, in the order of their
/// arrival.
///
/// Only the thread that reads the link calls ``touch()``, ``enter()`` and ``append(_:)``.
package protocol InlineLane: AnyObject, Sendable {
    /// Handlers that run elsewhere get the event in hand from now on.
    func touch()

    /// Whether the calling thread may run the handlers of the event in hand now; ``leave()`` follows then.
    ///
    /// Another thread may be in the handlers of an earlier event.
    func enter() -> Bool

    /// The handlers have returned.
    func leave()

    /// Runs the handlers of the event in hand behind those of earlier events: later, or now if those have returned
    /// meanwhile.
    func append(_ work: @escaping @Sendable () -> Void)
}

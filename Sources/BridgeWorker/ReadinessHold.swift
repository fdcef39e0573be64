import Synchronization

/// Keeps a worker from counting as ready until ``release()``, or until the last reference to the hold has gone.
///
/// See `EventPublisher.holdReadiness(because:)`. Any thread may release the hold; further calls do nothing.
public final class ReadinessHold: Sendable {
    private let isReleased = Atomic(false)
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) {
        self.end = end
    }

    deinit {
        release()
    }

    /// Ends this hold; the worker is ready once no hold is left and its body has returned or called `serve()`.
    public func release() {
        if !isReleased.exchange(true, ordering: .acquiringAndReleasing) { end() }
    }
}

import Synchronization

/// Keeps a worker from counting as ready: until ``release()``, or until the last reference to it has gone.
///
/// See `EventPublisher.holdReadiness(because:)`. Any thread may release it; further calls do nothing.
public final class ReadinessHold: Sendable {
    private let isReleased = Atomic(false)
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) {
        self.end = end
    }

    deinit {
        release()
    }

    /// Lets the worker become ready, as far as this hold goes.
    public func release() {
        if !isReleased.exchange(true, ordering: .acquiringAndReleasing) { end() }
    }
}

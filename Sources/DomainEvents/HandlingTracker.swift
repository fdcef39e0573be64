import Locks

/// Counts the handlers that still work on an awaited event: one for which a caller or another process waits.
@usableFromInline
final class HandlingTracker: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock: Lock
    private var remaining: Int
    /// One entry for each handler whose place is known and that has not returned.
    private var unfinished: [SubscriptionSite]
    private var failure: ThrownError?
    private let completion: any HandlingCompletion

    /// - Parameters:
    ///   - sites: where the handlers were subscribed, so that the caller can learn which are not done; may be empty.
    ///   - lock: guards the tracker; may be the lock of the caller's wait.
    init(
        handlers: Int,
        sites: [SubscriptionSite] = [],
        lock: Lock = Lock(),
        completion: any HandlingCompletion
    ) {
        remaining = handlers
        unfinished = sites
        self.lock = lock
        self.completion = completion
    }

    func handlerReturned(at site: SubscriptionSite?, failure error: ThrownError?) {
        // The error comes first: when the last handler counts as returned, no error is still to come.
        if let error { completion.handlersThrew(error) }
        let isLast = lock.withLock {
            if let error { failure = failure?.followed(by: error) ?? error }
            remaining -= 1
            if remaining == 0 {
                unfinished = []
            } else if let site, let index = unfinished.firstIndex(of: site) {
                unfinished.remove(at: index)
            }
            return remaining == 0
        }
        // No other thread reads `failure` once the last handler has reported.
        if isLast { completion.handlersReturned(failure: failure) }
    }

    /// Where the handlers that have not returned were subscribed.
    var unfinishedSites: [SubscriptionSite] { lock.withLock { unfinished } }
}

import Locks

/// Counts the handlers that still work on an awaited event: one for which a caller or another process waits.
@usableFromInline
final class HandlingTracker: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var remaining: Int
    private var unfinished: [SubscriptionSite: Int] = [:]
    private var failure: ThrownError?
    private let completion: any HandlingCompletion

    /// - Parameter sites: where the handlers were subscribed, so that the caller can learn which are not done; may be
    ///   empty.
    init(handlers: Int, sites: [SubscriptionSite] = [], completion: any HandlingCompletion) {
        remaining = handlers
        self.completion = completion
        for site in sites { unfinished[site, default: 0] += 1 }
    }

    func handlerReturned(at site: SubscriptionSite?, failure error: ThrownError?) {
        // Before the handler counts as returned, so that the last one leaves nothing to be told.
        if let error { completion.handlersThrew(error) }
        let isLast = lock.withLock {
            if let error { failure = failure?.followed(by: error) ?? error }
            if let site, let count = unfinished[site] { unfinished[site] = count > 1 ? count - 1 : nil }
            remaining -= 1
            return remaining == 0
        }
        // No other thread reads `failure` once the last handler has reported.
        if isLast { completion.handlersReturned(failure: failure) }
    }

    /// Where the handlers that have not returned were subscribed.
    var unfinishedSites: [SubscriptionSite] { lock.withLock { Array(unfinished.keys) } }
}

import Locks

/// Counts the handlers that still work on one incoming event.
@usableFromInline
final class IncomingTracker: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var remaining: Int
    private var failure: (any Error)?
    private let completion: any IncomingCompletion

    init(handlers: Int, completion: any IncomingCompletion) {
        remaining = handlers
        self.completion = completion
    }

    func handlerReturned(failure error: (any Error)?) {
        let isLast = lock.withLock {
            if failure == nil { failure = error }
            remaining -= 1
            return remaining == 0
        }
        // Nobody else reads `failure` once the last handler has reported.
        if isLast { completion.handlersReturned(failure: failure) }
    }
}

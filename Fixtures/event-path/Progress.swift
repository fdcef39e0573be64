import Dispatch

/// What has arrived of what was asked for.
final class Progress: @unchecked Sendable {
    // Sendable: changed while nothing is on its way, and otherwise used by the thread that delivers the events only.
    private var next: Int64 = 0
    private var end: Int64 = 0
    private var hasArrived = DispatchSemaphore(value: 0)

    /// - Returns: The number of the first event, and what is signalled after the last.
    func begin(_ count: Int64) -> (first: Int64, arrived: DispatchSemaphore) {
        end = next + count
        hasArrived = DispatchSemaphore(value: 0)
        return (next, hasArrived)
    }

    /// - Returns: Whether it was the last.
    func arrived(_ event: some PathEvent) -> Bool {
        guard event.id == next, event.title == PathTitle.of(event.id) else {
            EventPath.end("event \(event.id) came where \(next) was expected", 70)
        }
        next += 1
        if next == end { hasArrived.signal() }
        return next == end
    }
}

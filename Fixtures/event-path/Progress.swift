import Dispatch

/// How many of the requested events have arrived.
final class Progress: @unchecked Sendable {
    // Sendable: changed while nothing is on its way, and otherwise used only by the thread that delivers the events.
    private var next: Int64 = 0
    private var end: Int64 = 0
    private var hasArrived = DispatchSemaphore(value: 0)

    /// - Returns: The number of the first event, and the semaphore that is signalled after the last.
    func begin(_ count: Int64) -> (first: Int64, arrived: DispatchSemaphore) {
        end = next + count
        hasArrived = DispatchSemaphore(value: 0)
        return (next, hasArrived)
    }

    /// - Returns: Whether the event was the last.
    func arrived(_ event: some PathEvent) -> Bool {
        guard event.id == next, event.title == PathTitle.of(event.id) else {
            EventPath.end("event \(event.id) came where \(next) was expected", 70)
        }
        next += 1
        if next == end { hasArrived.signal() }
        return next == end
    }
}

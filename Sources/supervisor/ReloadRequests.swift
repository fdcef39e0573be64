import DomainEvents
import Locks

/// The requests to read the configuration again; requests that come during a reload lead to one more reload after it.
final class ReloadRequests: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// The greatest number of requests that wait for an answer at once: more than there are clients.
    static let mostRequesters = 256

    private let requests = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let lock = Lock()
    private var isWanted = false
    private var requesters: [EventContext] = []
    private var isAnswering = false

    /// Whether a reload is starting and stopping workers, or has been requested and will.
    var isUnderWay: Bool { lock.withLock { isAnswering || isWanted } }

    /// Requests a reload; any thread may call it.
    func request() {
        lock.withLock { isWanted = true }
        requests.continuation.yield()
    }

    /// Requests a reload for an event that expects an answer.
    ///
    /// - Returns: True if the event will be answered; false if too many events wait for an answer already.
    func request(by requester: EventContext) -> Bool {
        let isTaken = lock.withLock {
            guard requesters.count < Self.mostRequesters else { return false }
            isWanted = true
            requesters.append(requester)
            return true
        }
        if isTaken { requests.continuation.yield() }
        return isTaken
    }

    /// Answers together all requests that wait, and goes on with later ones; returns only after the task is cancelled.
    ///
    /// - Parameters:
    ///   - body: gets the events that wait for an answer.
    ///   - afterwards: called when the reload no longer starts or stops workers; a later one may be wanted by then.
    func forEach(_ body: ([EventContext]) async -> Void, afterwards: () -> Void) async {
        for await _ in requests.stream {
            // After the end has begun, no reload begins. The previous reload may have answered the requests that
            // yielded this element.
            guard !Task.isCancelled, let requesters = begin() else { continue }
            await body(requesters)
            lock.withLock { isAnswering = false }
            afterwards()
        }
    }

    private func begin() -> [EventContext]? {
        lock.withLock {
            guard isWanted else { return nil }
            defer { (isWanted, requesters) = (false, []) }
            isAnswering = true
            return requesters
        }
    }
}

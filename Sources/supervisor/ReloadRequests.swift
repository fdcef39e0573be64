import DomainEvents
import Locks

/// The requests to read the configuration again; requests that come during a reload lead to one more reload after it.
final class ReloadRequests: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// At most this many requests wait for an answer at once; fewer clients than that can be attached.
    static let mostRequesters = 256

    /// Why no reload will answer an event.
    enum Refusal: Sendable, Hashable {
        case tooManyWait
        case runIsEnding

        /// The reason, as the sender of the event gets it.
        var sentence: String {
            switch self {
            case .tooManyWait:
                "the configuration was not taken: \(ReloadRequests.mostRequesters) requests wait for an answer already"
            case .runIsEnding: "the configuration was not taken: the supervisor is stopping"
            }
        }
    }

    private let requests = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let lock = Lock()
    private var isWanted = false
    private var requesters: [EventContext] = []
    private var isAnswering = false
    private var isClosed = false

    /// Whether a reload is starting and stopping workers, or was requested and has not begun.
    var isUnderWay: Bool { lock.withLock { isAnswering || isWanted } }

    /// Requests a reload, except after ``close()``; any thread may call it.
    func request() {
        lock.withLock { if !isClosed { isWanted = true } }
        requests.continuation.yield()
    }

    /// Requests a reload for an event that expects an answer.
    ///
    /// - Returns: Nil if a reload or ``close()`` will take care of the event; otherwise why not.
    func request(by requester: EventContext) -> Refusal? {
        let refusal: Refusal? = lock.withLock {
            guard !isClosed else { return .runIsEnding }
            guard requesters.count < Self.mostRequesters else { return .tooManyWait }
            isWanted = true
            requesters.append(requester)
            return nil
        }
        if refusal == nil { requests.continuation.yield() }
        return refusal
    }

    /// Takes no further requests, and begins no further reload; a reload that has begun goes on.
    ///
    /// - Returns: The events that wait for a reload, which the caller has to refuse.
    func close() -> [EventContext] {
        lock.withLock {
            isClosed = true
            defer { (isWanted, requesters) = (false, []) }
            return requesters
        }
    }

    /// Answers together all requests that wait, and goes on with later ones; returns only after the task is cancelled.
    ///
    /// - Parameters:
    ///   - body: gets the events that wait for an answer.
    ///   - afterwards: called when a reload no longer starts or stops workers; a later reload may be wanted by then.
    func forEach(_ body: ([EventContext]) async -> Void, afterwards: () -> Void) async {
        for await _ in requests.stream {
            // While the supervisor is stopping, no reload begins. The previous reload may have answered the requests
            // that yielded this element.
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

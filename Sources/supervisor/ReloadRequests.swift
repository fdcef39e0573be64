import DomainEvents
import Locks

/// The requests to read the configuration again: those that come while it is read count as one, which comes behind it.
final class ReloadRequests: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// As many wait for an answer at once: more than there are clients.
    static let mostAskers = 256

    private let requests = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let lock = Lock()
    private var isWanted = false
    private var askers: [EventContext] = []
    private var isAnswering = false

    /// Whether workers come and go just now.
    var isUnderWay: Bool { lock.withLock { isAnswering } }

    /// From any thread.
    func request() {
        lock.withLock { isWanted = true }
        requests.continuation.yield()
    }

    /// The same for an event that is answered.
    ///
    /// - Returns: Whether it will be; otherwise too many wait already.
    func request(by asker: EventContext) -> Bool {
        let isTaken = lock.withLock {
            guard askers.count < Self.mostAskers else { return false }
            isWanted = true
            askers.append(asker)
            return true
        }
        if isTaken { requests.continuation.yield() }
        return isTaken
    }

    /// Answers each request, one after the other; does not return as long as the task is not cancelled.
    ///
    /// - Parameters:
    ///   - body: gets those who wait for an answer.
    ///   - afterwards: called when workers no longer come and go.
    func forEach(_ body: ([EventContext]) async -> Void, afterwards: () -> Void) async {
        for await _ in requests.stream {
            // What the end has overtaken is not begun. The one before may have answered those of this sign.
            guard !Task.isCancelled, let askers = begin() else { continue }
            await body(askers)
            lock.withLock { isAnswering = false }
            afterwards()
        }
    }

    private func begin() -> [EventContext]? {
        lock.withLock {
            guard isWanted else { return nil }
            defer { (isWanted, askers) = (false, []) }
            isAnswering = true
            return askers
        }
    }
}

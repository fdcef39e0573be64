import Synchronization

/// The requests to read the configuration again: those that come while it is read count as one, which comes behind it.
final class ReloadRequests: Sendable {
    private let requests = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let underWay = Atomic<Bool>(false)

    /// Whether workers come and go just now.
    var isUnderWay: Bool { underWay.load(ordering: .sequentiallyConsistent) }

    /// From any thread.
    func request() { requests.continuation.yield() }

    /// Answers each request, one after the other; does not return as long as the task is not cancelled.
    ///
    /// - Parameter afterwards: called when workers no longer come and go.
    func forEach(_ body: () async -> Void, afterwards: () -> Void) async {
        for await _ in requests.stream {
            underWay.store(true, ordering: .sequentiallyConsistent)
            await body()
            underWay.store(false, ordering: .sequentiallyConsistent)
            afterwards()
        }
    }
}

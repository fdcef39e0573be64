import BridgePlatform
import Locks

/// Looks, when a worker has ended, for processes that it has left behind outside its process group, and kills them.
///
/// The group itself is killed before the worker's status is taken. What has left it, as daemons do, is found by a mark
/// in its environment, in a look at all processes, which has a thread of its own while there is something to look for:
/// one look serves all workers that have ended until then.
final class LeftoverSearch: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    typealias Report = @Sendable ([MarkedProcesses.Found]) -> Void

    let mark = MarkedProcesses.Mark()
    private let lock = Lock()
    private var lastNumber: UInt64 = 0
    /// By the value of the mark: the name of the worker, until it has ended.
    private var workers: [String: String] = [:]
    /// By the value of the mark: the process group that is left out, and whom to tell.
    private var wanted: [String: (group: Int32, report: Report)] = [:]
    private var isSearching = false
    private var waiters: [CheckedContinuation<Void, Never>] = []

    /// The value of the mark for one more start of a worker.
    func nextValue(for worker: String) -> String {
        lock.withLock {
            lastNumber += 1
            let value = mark.value(lastNumber)
            workers[value] = worker
            return value
        }
    }

    /// No process bears this value: the worker could not be started.
    func forget(_ value: String) { lock.withLock { workers[value] = nil } }

    /// The worker with this value; empty if it has ended, nil if it is another bridge's.
    func worker(of value: String) -> String? {
        lock.withLock { workers[value] ?? (mark.isOn(value) ? "" : nil) }
    }

    /// - Parameters:
    ///   - group: the worker's, if it was killed; nil to look everywhere.
    ///   - report: called with what was found and killed, if there was something, on the search's thread.
    func search(for value: String, outside group: Int32?, report: @escaping Report) {
        let isFirst = lock.withLock {
            workers[value] = nil
            // No process is in group 0.
            wanted[value] = (group ?? 0, report)
            defer { isSearching = true }
            return !isSearching
        }
        guard isFirst else { return }
        do {
            try PlatformThread.start(name: "leftovers") { [self] in run() }
        } catch {
            // Without a thread no process is found this time; the guard finds them at the end.
            finishSearching(leaving: true)
        }
    }

    /// Returns when all that was to be searched for has been.
    func finish() async {
        await withCheckedContinuation { continuation in
            let isIdle = lock.withLock {
                if isSearching { waiters.append(continuation) }
                return !isSearching
            }
            if isIdle { continuation.resume() }
        }
    }

    private func run() {
        while true {
            let wanted = lock.withLock {
                defer { self.wanted = [:] }
                return self.wanted
            }
            if wanted.isEmpty, finishSearching() { return }
            let found = MarkedProcesses.kill(outside: wanted.mapValues(\.group))
            for (value, processes) in found { wanted[value]?.report(processes) }
        }
    }

    /// - Parameter leaving: whether what is wanted is left to the guard.
    /// - Returns: Whether nothing has come in between.
    @discardableResult
    private func finishSearching(leaving: Bool = false) -> Bool {
        let waiters: [CheckedContinuation<Void, Never>]? = lock.withLock {
            if leaving { wanted = [:] }
            guard wanted.isEmpty else { return nil }
            isSearching = false
            defer { self.waiters = [] }
            return self.waiters
        }
        for waiter in waiters ?? [] { waiter.resume() }
        return waiters != nil
    }
}

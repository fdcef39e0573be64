import BridgePlatform
import Locks

/// Kills the processes that an ended worker has left behind outside its process group.
///
/// The group itself is killed before the worker's status is taken. Processes that have left the group, as daemons do,
/// bear a mark in their environment, by which a search of all processes finds them. The search has a thread of its own
/// while there is something to find: one search serves all workers that have ended before it begins.
final class LeftoverSearch: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    typealias Report = @Sendable ([MarkedProcesses.Found]) -> Void

    let mark = MarkedProcesses.Mark()
    private let lock = Lock()
    private var lastNumber: UInt64 = 0
    /// The names of the workers that have not ended, by the value of the mark.
    private var workers: [String: String] = [:]
    /// The process group to leave out, and the function to call, by the value of the mark.
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

    /// Forgets a value that no process bears, because the worker could not be started.
    func forget(_ value: String) { lock.withLock { workers[value] = nil } }

    /// The worker with this value; empty if it has ended, nil if the value is another bridge's.
    func worker(of value: String) -> String? {
        lock.withLock { workers[value] ?? (mark.isOn(value) ? "" : nil) }
    }

    /// - Parameters:
    ///   - group: the worker's killed process group, which the search leaves out; nil to search everywhere.
    ///   - report: called on the search's thread with the processes that were found and killed, if there were any.
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
            // Without a thread there is no search; the guard, if any, kills the processes when the bridge ends.
            finishSearching(leaving: true)
        }
    }

    /// Returns when all requested searches are done.
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

    /// - Parameter leaving: whether the processes that are still sought are left to the guard.
    /// - Returns: Whether searching is over: no further search was requested.
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

import Locks

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A process that outlives this one by a moment, to kill what this one's children have left in their process groups.
///
/// The kernel can end a child with its parent, but not a child's children. The guard is the program `bridge-guard`:
/// each child reports its process group to the guard before the child's program begins. So a guard that runs misses no
/// group. The guard ends with this object; by then no guarded process may be left.
///
/// `@unchecked Sendable` is sound: the mutable properties are touched under `lock` only.
package final class ProcessGuard: @unchecked Sendable {
    /// The number that the guard's end of the connection has in the guard.
    private static let connection: CInt = 3

    /// How many nanoseconds a guard may take to end before it is killed: it may be stopped, or wait because another
    /// process holds the connection open.
    private static let endNanoseconds: UInt64 = 1_000_000_000

    private let lock = Lock()
    /// The connection to the guard; children get copies, and the guard ends its wait when the last copy is closed.
    private var connection: SharedDescriptor?
    private var child: ChildProcess?
    /// Whether the guard's process runs, or soon will.
    private var isAlive = true
    private var beginning = Beginning.underWay([])
    private var waiters: [@Sendable () -> Void] = []
    private let endedEarly: @Sendable (ExitStatus) -> Void

    private enum Beginning {
        /// The closures to call once the outcome is known.
        case underWay([@Sendable (SpawnError?) -> Void])
        case over(SpawnError?)
    }

    private init(_ connection: SharedDescriptor, _ endedEarly: @escaping @Sendable (ExitStatus) -> Void) {
        self.connection = connection
        self.endedEarly = endedEarly
    }

    /// Starts a guard and does not wait until it runs; what children send earlier waits in the connection.
    ///
    /// - Parameters:
    ///   - program: the path of `bridge-guard`.
    ///   - mark: the mark whose bearers are killed as well, whatever group they are in; see `MarkedProcesses`.
    ///   - endedEarly: called on the poller's thread, with the guard's status, if the guard ends unasked.
    package static func start(
        program: String,
        mark: MarkedProcesses.Mark? = nil,
        on poller: Poller,
        endedEarly: @escaping @Sendable (ExitStatus) -> Void = { _ in }
    ) throws -> ProcessGuard {
        let sockets = try UnixSocket.pair()
        let far = SharedDescriptor(sockets.second)
        let result = ProcessGuard(SharedDescriptor(sockets.first), endedEarly)
        var request = SpawnRequest(executable: program)
        request.arguments = ["--parent", "\(getpid())", "--connection", "\(connection)"]
        // The guard is written in C, but SwiftPM links the Swift runtime into it.
        request.environment = [SpawnRequest.backtraces: SpawnRequest.noBacktraces]
        if let mark { request.arguments += ["--mark", mark.beginning] }
        request.descriptors = [.init(child: connection, parent: far.rawValue)]
        try ChildProcess.spawn(request) { [result, far] answer in
            withExtendedLifetime(far) {}
            result.started(answer, on: poller)
        }
        return result
    }

    /// The descriptor for ``SpawnRequest/guardDescriptor``, open as long as it is held; `nil` once the guard has ended
    /// or ``end(on:)`` was called.
    package var descriptor: SharedDescriptor? {
        lock.withLock { isAlive ? connection : nil }
    }

    /// Calls `body` when the guard's program has begun, or with the error if it cannot begin.
    ///
    /// If the outcome is known, this call calls `body` itself; otherwise the thread that starts all processes does.
    package func whenBegun(_ body: @escaping @Sendable (SpawnError?) -> Void) {
        let beginning = lock.withLock {
            if case .underWay(let bodies) = self.beginning { self.beginning = .underWay(bodies + [body]) }
            return self.beginning
        }
        if case .over(let error) = beginning { body(error) }
    }

    /// Ends the guard, and returns when it has ended.
    ///
    /// No process that it guards may be left.
    package func end(on poller: Poller) async {
        let kill = poller.schedule(after: Self.endNanoseconds) { [self] in
            _ = try? lock.withLock { child }?.signal(SIGKILL)
        }
        await withCheckedContinuation { continuation in
            let (closed, isOver) = lock.withLock {
                if isAlive { waiters.append { continuation.resume() } }
                return (connection.take(), !isAlive)
            }
            withExtendedLifetime(closed) {}
            if isOver { continuation.resume() }
        }
        kill.cancelWithoutWaiting()
    }

    private func started(_ answer: Result<ChildProcess, SpawnError>, on poller: Poller) {
        switch answer {
        case .success(let child):
            lock.withLock { self.child = child }
            do {
                try child.onExit(on: poller) { [weak self] exit in self?.ended(exit.status) }
                begun(nil)
            } catch {
                // If the poller was stopped, the bridge is ending: the guard ends with it, and counts as gone.
                let isStopped = error.code == ECANCELED
                // Otherwise another guard takes this guard's place, so this guard must end without killing children.
                // It knows of no child yet: children are started on this thread, after the guard.
                if !isStopped { _ = try? child.signal(SIGKILL) }
                ended(nil)
                begun(isStopped ? nil : .failed(error))
            }
        case .failure(let error):
            // The end comes first: what is called next finds that this guard has gone.
            ended(nil)
            begun(error)
        }
    }

    private func begun(_ error: SpawnError?) {
        let bodies: [@Sendable (SpawnError?) -> Void] = lock.withLock {
            defer { beginning = .over(error) }
            return if case .underWay(let bodies) = beginning { bodies } else { [] }
        }
        for body in bodies { body(error) }
    }

    private func ended(_ status: ExitStatus?) {
        let (waiters, isEarly) = lock.withLock {
            isAlive = false
            child = nil
            defer { self.waiters = [] }
            return (self.waiters, connection != nil)
        }
        if let status, isEarly { endedEarly(status) }
        for waiter in waiters { waiter() }
    }
}

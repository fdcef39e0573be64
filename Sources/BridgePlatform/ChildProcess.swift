import CBridgePlatform
import Locks

#if canImport(Glibc)
package import Glibc
#elseif canImport(Darwin)
package import Darwin
#endif

/// A process that this one has started: it can be signalled, and its end is noticed and its status taken exactly once.
///
/// Signals reach this very process or none: on Linux they go through a pidfd, never to a number that the kernel may
/// have given to another process. The caller must ask for the exit with `onExit` or `waitForExit`; a child whose exit
/// is not asked for stays in the process table as long as this process lives.
///
/// `@unchecked Sendable` is sound: the mutable properties are touched under `lock` only.
package final class ChildProcess: @unchecked Sendable {
    package let processIdentifier: pid_t
    private let killsGroupOnExit: Bool
    /// What the system may count as the child's, though it was this process's.
    private let inheritedPeak: Int
    private let lock = Lock()
    /// Readable when the child has exited; `nil` if it was gone, and reaped elsewhere, before we could look.
    private let handle: SharedDescriptor?
    private var exit: ChildExit?
    private var isObserved = false
    private var lacks: [String] = []

    /// Takes charge of a child just spawned.
    init(_ process: pid_t, killsGroupOnExit: Bool) throws(SystemError) {
        processIdentifier = process
        self.killsGroupOnExit = killsGroupOnExit
        inheritedPeak = CurrentProcess.peakLeftToChildren()
        let descriptor = cbp_process_open(process)
        if descriptor >= 0 {
            handle = SharedDescriptor(FileDescriptor(owning: descriptor))
            return
        }
        let error = SystemError.current("watching the new process \(process)")
        if error.code != ESRCH {
            // Without a handle the child cannot be looked after. It has not been reaped, so its number is still its
            // own.
            kill(-process, SIGKILL)
            kill(process, SIGKILL)
            _ = retryingInterrupted { waitpid(process, nil, 0) }
            throw error
        }
        handle = nil
        exit = ChildExit(status: .reapedElsewhere, resourceUse: nil)
    }

    deinit {
        // A child already dead leaves the process table; one still running will stay there as a zombie.
        _ = collectExit()
    }

    /// Starts a process and waits until the new program has begun, or could not.
    ///
    /// It blocks for as long as the kernel takes to load the program, so it has no place in an `async` function.
    package static func spawn(_ request: SpawnRequest) throws(SpawnError) -> ChildProcess {
        let answer = SpawnAnswer()
        try spawn(request, completion: { answer.give($0) }, afterwards: { answer.open() })
        return try answer.wait().get()
    }

    /// Starts a process and calls `completion` on the thread that starts all processes; `completion` must not hold that
    /// thread up.
    ///
    /// The descriptors named in the request must stay open until then. An invalid request throws an error at once.
    package static func spawn(
        _ request: SpawnRequest,
        completion: @escaping @Sendable (Result<ChildProcess, SpawnError>) -> Void
    ) throws(SpawnError) {
        try spawn(request, completion: completion, afterwards: {})
    }

    private static func spawn(
        _ request: SpawnRequest,
        completion: @escaping Spawner.Completion,
        afterwards: @escaping @Sendable () -> Void
    ) throws(SpawnError) {
        try request.validate()
        do throws(SystemError) {
            try Spawner.shared.spawn(.init(request: request, completion: completion, afterwards: afterwards))
        } catch {
            throw .failed(error)
        }
    }

    /// Whether the child's exit has not been noticed yet.
    package var isRunning: Bool {
        lock.withLock { exit == nil }
    }

    /// What the child has used; `nil` until its exit has been noticed, and if it was reaped elsewhere.
    package var usage: ResourceUse? {
        lock.withLock { exit?.resourceUse }
    }

    /// The parts of its box that this system lacks, each a sentence; empty if its box is whole, or none was asked for.
    package internal(set) var missingFromBox: [String] {
        get { lock.withLock { lacks } }
        set { lock.withLock { lacks = newValue } }
    }

    // MARK: Signals

    /// Sends a signal to the child.
    ///
    /// - Returns: `false` when the child is gone. One that has exited but is not reaped yet takes signals silently.
    @discardableResult
    package func signal(_ signal: CInt) throws(SystemError) -> Bool {
        try lock.withLock { () throws(SystemError) in
            guard exit == nil, let handle else { return false }
            if cbp_process_signal(handle.rawValue, processIdentifier, signal) == 0 { return true }
            let error = SystemError.current("sending signal \(signal) to process \(processIdentifier)")
            if error.code == ESRCH { return false }
            throw error
        }
    }

    /// Sends a signal to all processes of the child's group.
    ///
    /// - Returns: `false` when the child's exit has been noticed, or no process is left in the group.
    @discardableResult
    package func signalGroup(_ signal: CInt) throws(SystemError) -> Bool {
        try lock.withLock { () throws(SystemError) in
            guard exit == nil, let handle else { return false }
            if cbp_process_signal_group(handle.rawValue, signal) == 0 { return true }
            if errno == EINVAL {
                // By the group's number, which another process may get once the child is reaped. The look notices if
                // other code of this process has reaped the child. Such code could still do so before the signal; it
                // breaks the rule that only we wait for our children.
                guard look(at: handle, reaping: false) != nil else { return false }
                if kill(-processIdentifier, signal) == 0 { return true }
            }
            let error = SystemError.current("sending signal \(signal) to process group \(processIdentifier)")
            if error.code == ESRCH { return false }
            throw error
        }
    }

    // MARK: Exit

    /// Calls `handler` once, on the poller's thread, when the child has exited; also if it has already.
    ///
    /// A grandchild that keeps pipes or sockets open does not delay it. A child has one such observer; a second one is
    /// refused with EBUSY. If the poller is stopped first, the handler is never called.
    package func onExit(
        on poller: Poller,
        _ handler: @escaping @Sendable (ChildExit) -> Void
    ) throws(SystemError) {
        let isSecond = lock.withLock {
            defer { isObserved = true }
            return isObserved
        }
        let operation = "watching the exit of process \(processIdentifier)"
        if isSecond { throw SystemError(code: EBUSY, operation: operation) }
        guard let handle else {
            let exit = collectExit() ?? ChildExit(status: .reapedElsewhere, resourceUse: nil)
            if !poller.perform({ handler(exit) }) { throw SystemError(code: ECANCELED, operation: operation) }
            return
        }
        let watch = ExitWatch()
        let registration = try poller.register(handle.rawValue, interest: .readable) { [self] _ in
            guard let exit = collectExit() else { return }
            if watch.end() { handler(exit) }
        }
        watch.begin(registration)
    }

    /// Waits for the child's exit, for ever if need be.
    package func waitForExit() -> ChildExit {
        while true {
            if let exit = collectExit() { return exit }
            guard let handle else { continue }
            waitUntilReady(handle.rawValue, for: POLLIN)
        }
    }

    /// Takes the child's status if it has exited, and kills what is left of its group before that.
    private func collectExit() -> ChildExit? {
        lock.withLock {
            if let exit { return exit }
            guard let handle else { return nil }
            guard let first = look(at: handle, reaping: false) else {
                // The group is still known by the handle, where the system can do that.
                if killsGroupOnExit { _ = cbp_process_signal_group(handle.rawValue, SIGKILL) }
                exit = ChildExit(status: .reapedElsewhere, resourceUse: nil)
                return exit
            }
            if first.state == cbp_exit_still_running { return nil }
            // The zombie still has its number, so this can hit no other process.
            if killsGroupOnExit { kill(-processIdentifier, SIGKILL) }
            let last = look(at: handle, reaping: true)
            exit =
                last.map { ChildExit($0, inheritedPeak: inheritedPeak) }
                ?? ChildExit(status: .reapedElsewhere, resourceUse: nil)
            return exit
        }
    }

    /// The child's state; `nil` if it is not in the process table any more.
    private func look(at handle: SharedDescriptor, reaping: Bool) -> cbp_exit? {
        var found = cbp_exit()
        return cbp_process_wait(handle.rawValue, processIdentifier, reaping ? 1 : 0, &found) == 0 ? found : nil
    }
}

extension ChildExit {
    fileprivate init(_ exit: cbp_exit, inheritedPeak: Int) {
        let dumped = exit.state == cbp_exit_by_signal_with_core
        let isOrdinary = exit.state == cbp_exit_with_code
        // An eighth more, as Linux counts pages for each processor and adds them up later (percpu_counter).
        let isOwn = exit.peak_resident_bytes > inheritedPeak + inheritedPeak / 8
        self.init(
            status: isOrdinary ? .exited(code: exit.value) : .signaled(signal: exit.value, coreDumped: dumped),
            resourceUse: ResourceUse(
                userMicroseconds: exit.user_microseconds,
                systemMicroseconds: exit.system_microseconds,
                peakResidentBytes: isOwn ? exit.peak_resident_bytes : nil
            )
        )
    }
}

/// Ends a registration from inside its own handler, which may run before the registration is known.
///
/// `@unchecked Sendable` is sound: the properties are touched under `lock` only.
private final class ExitWatch: @unchecked Sendable {
    private let lock = Lock()
    private var registration: Poller.Registration?
    private var hasEnded = false

    func begin(_ registration: Poller.Registration) {
        let isLate = lock.withLock {
            if !hasEnded { self.registration = registration }
            return hasEnded
        }
        if isLate { registration.cancel() }
    }

    /// Whether this is the first end.
    func end() -> Bool {
        let (isFirst, registration) = lock.withLock {
            defer { hasEnded = true }
            return (!hasEnded, self.registration.take())
        }
        registration?.cancel()
        return isFirst
    }
}

/// Carries the spawner's answer to the thread that waits for it.
///
/// It is opened only after the spawner has let go of the child. So the child's descriptor is closed exactly when its
/// owner lets go of it, and not some time later on another thread.
///
/// `@unchecked Sendable` is sound: the properties are touched under `lock` only.
private final class SpawnAnswer: @unchecked Sendable {
    private let lock = Lock()
    private let opened: Condition
    private var result: Result<ChildProcess, SpawnError>?
    private var isOpen = false

    init() {
        opened = Condition(lock: lock)
    }

    func give(_ result: Result<ChildProcess, SpawnError>) {
        lock.withLock { self.result = result }
    }

    func open() {
        lock.withLock {
            isOpen = true
            opened.signal()
        }
    }

    func wait() -> Result<ChildProcess, SpawnError> {
        lock.withLock {
            while true {
                if isOpen, let result = result.take() { return result }
                opened.wait()
            }
        }
    }
}

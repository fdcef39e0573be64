import CBridgePlatform
import Locks

#if canImport(Glibc)
package import Glibc
#elseif canImport(Darwin)
package import Darwin
#endif

/// A child of this process, to be signalled and waited for; its exit status is taken at most once.
///
/// On Linux `signal` goes through a pidfd: it reaches the child or no process. `signalGroup` goes to the child's number
/// where the system signals groups by number only. A child that outlives this object runs on; `AbandonedChildren` takes
/// its status when it ends.
///
/// `@unchecked Sendable` is sound: the mutable properties are touched under `lock` only.
package final class ChildProcess: @unchecked Sendable {
    package let processIdentifier: pid_t
    private let killsGroupOnExit: Bool
    /// Whether this object only waits for the end of a child that has outlived its first object.
    private let isAbandoned: Bool
    /// The peak memory of this process, which the system may count as the child's.
    private let inheritedPeak: Int
    private let lock = Lock()
    /// Readable when the child has exited; `nil` if the child was reaped elsewhere before its handle was opened.
    private let handle: SharedDescriptor?
    private var exit: ChildExit?
    private var isObserved = false
    private var lacks: [String] = []

    /// Takes charge of a child just spawned.
    init(_ process: pid_t, killsGroupOnExit: Bool) throws(SystemError) {
        processIdentifier = process
        self.killsGroupOnExit = killsGroupOnExit
        isAbandoned = false
        inheritedPeak = CurrentProcess.peakLeftToChildren()
        let descriptor = cbp_process_open(process)
        if descriptor >= 0 {
            handle = SharedDescriptor(FileDescriptor(owning: descriptor))
            return
        }
        let error = SystemError.current("watching the new process \(process)")
        if error.code != ESRCH {
            // Without a handle the child cannot be watched. It has not been reaped, so its number is still its own.
            kill(-process, SIGKILL)
            kill(process, SIGKILL)
            _ = retryingInterrupted { waitpid(process, nil, 0) }
            throw error
        }
        handle = nil
        exit = ChildExit(status: .reapedElsewhere, resourceUse: nil)
    }

    /// Takes over the wait for a child whose first object is about to end.
    private init(of process: pid_t, _ handle: SharedDescriptor, killsGroupOnExit: Bool, inheritedPeak: Int) {
        processIdentifier = process
        self.handle = handle
        self.killsGroupOnExit = killsGroupOnExit
        self.inheritedPeak = inheritedPeak
        isAbandoned = true
    }

    deinit {
        // A child that has exited leaves the process table now. One that runs on would stay there after its exit as a
        // zombie, as long as this process lives. This must not block: any thread may release the last reference.
        guard collectExit() == nil, !isAbandoned, let handle else { return }
        AbandonedChildren.shared.add(
            ChildProcess(
                of: processIdentifier,
                handle,
                killsGroupOnExit: killsGroupOnExit,
                inheritedPeak: inheritedPeak
            )
        )
    }

    /// Starts a process and waits until the new program has begun or the start has failed.
    ///
    /// Do not call this in an `async` function: it blocks for as long as the kernel takes to load the program.
    package static func spawn(_ request: SpawnRequest) throws(SpawnError) -> ChildProcess {
        let answer = SpawnAnswer()
        try spawn(request, completion: { answer.give($0) }, afterwards: { answer.open() })
        return try answer.wait().get()
    }

    /// Starts a process and calls `completion` on the thread that starts all processes; `completion` must not hold that
    /// thread up.
    ///
    /// The request's descriptors must stay open until `completion` is called. An invalid request throws at once.
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

    /// True until the child's exit has been noticed.
    package var isRunning: Bool {
        lock.withLock { exit == nil }
    }

    /// What the child has used; `nil` before its exit has been noticed, and for a child that was reaped elsewhere.
    package var usage: ResourceUse? {
        lock.withLock { exit?.resourceUse }
    }

    /// The parts that the child's box lacks on this system, a sentence for each; none if no box was asked for.
    package internal(set) var missingFromBox: [String] {
        get { lock.withLock { lacks } }
        set { lock.withLock { lacks = newValue } }
    }

    // MARK: Signals

    /// Sends a signal to the child.
    ///
    /// - Returns: `false` when the child is gone; `true`, without effect, if it has exited but is not reaped yet.
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
                // This system signals groups by number only. Another process may get the number once the child is
                // reaped. `look` notices if other code of this process has reaped the child. Such code could still reap
                // the child before `kill`, but would break the rule that only this package waits for its children.
                guard look(at: handle, reaping: false) != nil else { return false }
                if kill(-processIdentifier, signal) == 0 { return true }
            }
            let error = SystemError.current("sending signal \(signal) to process group \(processIdentifier)")
            if error.code == ESRCH { return false }
            throw error
        }
    }

    // MARK: Exit

    /// Calls `handler` once, on the poller's thread, when the child has exited, even if it exited before this call.
    ///
    /// A grandchild that keeps pipes or sockets open does not delay `handler`. A child has one handler; a second call
    /// throws EBUSY, unless the first one has thrown before. If the poller is stopped first, the handler is never
    /// called.
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
        do throws(SystemError) {
            try watchExit(on: poller, handler, operation)
        } catch {
            lock.withLock { isObserved = false }
            throw error
        }
    }

    private func watchExit(
        on poller: Poller,
        _ handler: @escaping @Sendable (ChildExit) -> Void,
        _ operation: String
    ) throws(SystemError) {
        guard let handle else {
            let exit = collectExit() ?? ChildExit(status: .reapedElsewhere, resourceUse: nil)
            if !poller.perform({ handler(exit) }) { throw SystemError(code: ECANCELED, operation: operation) }
            return
        }
        let watch = ExitWatch()
        let registration = try poller.register(handle.rawValue, interest: .readable) { [self] _ in
            if let exit = collectExit() {
                if watch.end() { handler(exit) }
            } else if watch.pause() {
                lookAgain(watch, on: poller, handler)
            }
        }
        watch.begin(registration)
    }

    /// How many milliseconds lie between two looks at a dead child whose status a debugger has not let go yet.
    ///
    /// While a debugger holds a child, the child's handle becomes readable at the child's death, but only the debugger
    /// gets the child's status until it lets go of the child. The handle does not show when that happens.
    private static let pause: CInt = 50

    private func lookAgain(_ watch: ExitWatch, on poller: Poller, _ handler: @escaping @Sendable (ChildExit) -> Void) {
        poller.schedule(after: UInt64(Self.pause) * 1_000_000) { [self] in
            guard let exit = collectExit() else { return lookAgain(watch, on: poller, handler) }
            if watch.end() { handler(exit) }
        }
    }

    /// Kills the child, and calls `handler` once, on the poller's thread, when the child has ended.
    ///
    /// This works even if the system has no watch left: a timer then looks for the child's end.
    package func forceEnd(on poller: Poller, _ handler: @escaping @Sendable (ChildExit) -> Void) {
        // A child that is gone gets no signal; nothing else can go wrong with a handle of this process's own child.
        _ = try? signal(SIGKILL)
        do throws(SystemError) {
            try onExit(on: poller, handler)
        } catch {
            lookAgain(ExitWatch(), on: poller, handler)
        }
    }

    /// Waits for the child's exit, for ever if need be.
    package func waitForExit() -> ChildExit {
        while true {
            if let exit = collectExit() { return exit }
            guard let handle else { continue }
            waitUntilReady(handle.rawValue, for: POLLIN)
            if let exit = collectExit() { return exit }
            waitUntilReady(handle.rawValue, for: 0, milliseconds: Self.pause)
        }
    }

    /// Takes the status of a child that has exited, after killing what is left of its group if that was asked for.
    private func collectExit() -> ChildExit? {
        lock.withLock {
            if let exit { return exit }
            guard let handle else { return nil }
            guard let first = look(at: handle, reaping: false) else {
                // Another process may have the number by now, so the signal goes by handle, if this system can do that.
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
        // An eighth more, because peaks are inexact: Linux counts pages for each processor first (percpu_counter).
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

/// Lets a registration's own handler pause and end it, even if the handler runs before the registration is known.
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

    /// Keeps the poller from further calls of the handler; false if the registration is not known yet: then the next
    /// call comes at once.
    func pause() -> Bool {
        guard let registration = lock.withLock({ self.registration }) else { return false }
        // This cannot fail: with an empty interest the poller only takes the descriptor out of the kernel's list.
        try? registration.update([])
        return true
    }

    /// Ends the registration, and says whether this is the first call.
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
/// The thread goes on only after the spawner has released the child. So the child's descriptor is closed exactly when
/// the caller releases the child, and not some time later on the spawner's thread.
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

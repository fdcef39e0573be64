import BridgePlatform
import BridgeTransport
import Locks
import Supervision

/// Starts workers as processes that die with this process; `bridge-guard`, if present, then kills what they leave.
///
/// A worker gets up to three descriptors: 3 is one end of a socket pair, 4 is memory for its outbox, and 5 is memory
/// for the large events that the host sends.
final class ProcessLauncher: WorkerLauncher, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// The descriptor of the link in the worker: the first after the standard streams.
    private static let linkDescriptor: CInt = 3

    /// The descriptor of the shared outbox in the worker.
    private static let outboxDescriptor: CInt = 4

    /// The descriptor of the memory for the host's large events in the worker.
    private static let shelfDescriptor: CInt = 5

    /// Variables that every program may need; of the supervisor's environment a worker gets only these and
    /// the settings of the backtracer.
    private static let inherited = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"]

    private let workerGuard: WorkerGuard
    private let say: @Sendable (String) -> Void
    private let lock = Lock()
    private var processGuard: ProcessGuard?
    private var hasSaidLoss = false
    private let leftovers = LeftoverSearch()

    /// - Parameter say: takes the sentence about a guard that was lost, on a thread that it must not hold up.
    init(
        _ workerGuard: WorkerGuard = .automatic,
        say: @escaping @Sendable (String) -> Void = { UnwaitedOutput.sayOnStandardError($0) }
    ) {
        self.workerGuard = workerGuard
        self.say = say
    }

    func launch(
        _ order: LaunchOrder,
        completion: @escaping @Sendable (Result<LaunchedWorker, LaunchFailure>) -> Void
    ) {
        let mark = leftovers.nextValue(for: order.specification.name)
        let completion: @Sendable (Result<LaunchedWorker, LaunchFailure>) -> Void = { [leftovers] result in
            if case .failure = result { leftovers.forget(mark) }
            completion(result)
        }
        do {
            try launchThrowing(order, mark: mark, completion: completion)
        } catch let failure as LaunchFailure {
            completion(.failure(failure))
        } catch let error as SpawnError {
            completion(.failure(Self.failure(error)))
        } catch {
            completion(.failure(LaunchFailure(reason: .spawnFailed("\(error)", errno: (error as? SystemError)?.code))))
        }
    }

    private func launchThrowing(
        _ order: LaunchOrder,
        mark: String,
        completion: @escaping @Sendable (Result<LaunchedWorker, LaunchFailure>) -> Void
    ) throws {
        let specification = order.specification
        let sockets = try UnixSocket.pair()
        let output = try FileDescriptor.pipe()
        let error = try FileDescriptor.pipe()
        var request = SpawnRequest(executable: try Self.path(of: specification.executable))
        request.arguments = specification.arguments
        let memory = order.keptOutbox() ?? MemoryFile.forOutbox(order.limits)
        let shelf = MemoryFile.forShelf()
        request.environment = Self.environment(
            specification,
            mark: mark,
            cookie: order.cookie,
            hasOutbox: memory != nil,
            hasShelf: shelf != nil
        )
        request.workingDirectory = specification.workingDirectory
        // The closure below keeps these open until the child has its copies, and no longer.
        let (link, outputEnd) = (SharedDescriptor(sockets.second), SharedDescriptor(output.writing))
        let errorEnd = SharedDescriptor(error.writing)
        request.standardOutput = .descriptor(outputEnd.rawValue)
        request.standardError = .descriptor(errorEnd.rawValue)
        request.descriptors = [.init(child: Self.linkDescriptor, parent: link.rawValue)]
        if let memory { request.descriptors.append(.init(child: Self.outboxDescriptor, parent: memory.rawValue)) }
        if let shelf { request.descriptors.append(.init(child: Self.shelfDescriptor, parent: shelf.rawValue)) }
        let guarding = try runningGuard(on: order.poller)
        request.diesWithParent = true
        request.guardDescriptor = guarding?.descriptor?.rawValue
        request.box = order.box?.spawnBox(in: specification.workingDirectory, besides: order.writablePaths)
        let lines = order.output
        let outputPipe = try LinePipe.capture(output.reading, on: order.poller) { lines($0, false) }
        let errorPipe = try LinePipe.capture(error.reading, on: order.poller) { lines($0, true) }
        let stream = UnixStream(sockets.first, memory: memory, shelf: shelf, poller: order.poller)
        let ends = [link, outputEnd, errorEnd]
        let guardEnd = guarding?.descriptor
        let spawned: @Sendable (Result<ChildProcess, SpawnError>) -> Void = { [ends, guardEnd, leftovers] result in
            withExtendedLifetime((ends, guardEnd)) {}
            switch result {
            case .success(let child):
                let pipes = [outputPipe, errorPipe]
                let process = SpawnedProcess(child: child, pipes: pipes, poller: order.poller) { exit in
                    // If other code has reaped the process, its group might not have been killed, and is searched too.
                    let group = exit.status == .reapedElsewhere ? nil : child.processIdentifier
                    leftovers.search(for: mark, outside: group) { found in
                        order.leftBehind(child.processIdentifier, found)
                    }
                }
                var worker = LaunchedWorker(stream: stream, process: process)
                worker.missingFromBox = child.missingFromBox
                completion(.success(worker))
            case .failure(let error):
                completion(.failure(Self.failure(error)))
            }
        }
        guard let guarding else { return try ChildProcess.spawn(request, completion: spawned) }
        guarding.process.whenBegun { [self, request] error in
            if let error, insistsOnGuard {
                let failure = ExitReason.spawnFailed("its guard does not start: \(error)", errno: error.code)
                return completion(.failure(LaunchFailure(reason: failure)))
            }
            if let error { guardWasLost("the guard does not start: \(error)") }
            do throws(SpawnError) {
                try ChildProcess.spawn(request, completion: spawned)
            } catch {
                spawned(.failure(error))
            }
        }
    }

    func worker(markedOn process: Int32) -> String? {
        MarkedProcesses.mark(of: process).flatMap(leftovers.worker(of:))
    }

    func end(on poller: Poller) async {
        await leftovers.finish()
        await lock.withLock { processGuard.take() }?.end(on: poller)
    }

    // MARK: - bridge-guard

    /// The path of `bridge-guard`; nil if workers are started without it.
    ///
    /// The guard is looked up anew for every start, like the workers' programs.
    private func findGuard() throws -> String? {
        switch workerGuard {
        case .none: return nil
        case .program(let location):
            let path = try Self.path(of: location)
            if CurrentProcess.isExecutableFile(path) { return path }
            throw LaunchFailure(
                reason: .spawnFailed("the guard \(path) is no executable file", errno: CurrentProcess.noSuchFile)
            )
        case .automatic:
            let path = try CurrentProcess.executableDirectory() + "/bridge-guard"
            return CurrentProcess.isExecutableFile(path) ? path : nil
        }
    }

    private typealias Guarding = (process: ProcessGuard, descriptor: SharedDescriptor?)

    /// Whether each start of a worker requires a guard.
    private var insistsOnGuard: Bool { if case .program = workerGuard { true } else { false } }

    /// The guard, and its descriptor as long as it lives; nil if workers are started without it.
    ///
    /// The guard is started with the first worker, and again if it has gone. Without a guard, the workers themselves
    /// still end with this process.
    private func runningGuard(on poller: Poller) throws -> Guarding? {
        guard let program = try findGuard() else { return nil }
        do {
            return try lock.withLock { () throws -> Guarding in
                if let running = processGuard, let descriptor = running.descriptor { return (running, descriptor) }
                let started = try ProcessGuard.start(
                    program: program,
                    mark: leftovers.mark,
                    on: poller,
                    endedEarly: { [weak self] status in self?.guardEnded(program, status) }
                )
                processGuard = started
                return (started, started.descriptor)
            }
        } catch {
            if insistsOnGuard { throw error }
            guardWasLost("the guard does not start: \(error)")
            return nil
        }
    }

    private func guardEnded(_ program: String, _ status: ExitStatus) {
        // SIGKILL is taken for the act of a user, to whom the loss is no news.
        if case .signaled(signal: ChildSignal.kill.number, coreDumped: _) = status { return }
        guardWasLost("the guard \(program) \(status)")
    }

    /// Says, the first time only, that workers run without a guard; each further start of a worker looks for one again.
    private func guardWasLost(_ what: String) {
        let isFirst = lock.withLock {
            defer { hasSaidLoss = true }
            return !hasSaidLoss
        }
        if isFirst { say("\(what); workers run without it") }
    }

    private static func failure(_ error: SpawnError) -> LaunchFailure {
        if case .boxUnavailable(let sentence) = error { return LaunchFailure(reason: .boxUnavailable(sentence)) }
        return LaunchFailure(reason: .spawnFailed(error.description, errno: error.code))
    }

    private static func environment(
        _ specification: ChildSpecification,
        mark: String,
        cookie: String,
        hasOutbox: Bool,
        hasShelf: Bool
    ) -> [String: String] {
        var environment: [String: String] = [:]
        for name in inherited {
            if let value = CurrentProcess.environment(name) { environment[name] = value }
        }
        environment[SpawnRequest.backtraces] =
            CurrentProcess.environment(SpawnRequest.backtraces) ?? SpawnRequest.noBacktraces
        environment.merge(specification.environment) { _, own in own }
        environment["EVENT_BRIDGE_FD"] = "\(linkDescriptor)"
        environment["EVENT_BRIDGE_NAME"] = specification.name
        environment["EVENT_BRIDGE_COOKIE"] = cookie
        environment[MarkedProcesses.Mark.variable] = mark
        if hasOutbox { environment["EVENT_BRIDGE_OUTBOX_FD"] = "\(outboxDescriptor)" }
        if hasShelf { environment["EVENT_BRIDGE_SHELF_FD"] = "\(shelfDescriptor)" }
        return environment
    }

    /// The path of a program, looked up anew for every start.
    private static func path(of location: ExecutableLocation) throws -> String {
        switch location {
        case .path(let path): return path
        case .beside(let name): return try CurrentProcess.executableDirectory() + "/" + name
        case .search(let name):
            let directories = (CurrentProcess.environment("PATH") ?? "").split(separator: ":")
            for directory in directories where CurrentProcess.isExecutableFile("\(directory)/\(name)") {
                return "\(directory)/\(name)"
            }
            throw LaunchFailure(
                reason: .spawnFailed("no executable file \"\(name)\" in PATH", errno: CurrentProcess.noSuchFile)
            )
        }
    }
}

/// A worker's process, and the capture of what it prints.
private final class SpawnedProcess: WorkerProcess {
    private let child: ChildProcess
    private let pipes: [LinePipe]
    private let poller: Poller
    private let ended: @Sendable (ChildExit) -> Void

    /// - Parameter ended: called when the process's status has been taken, and its group killed.
    init(child: ChildProcess, pipes: [LinePipe], poller: Poller, ended: @escaping @Sendable (ChildExit) -> Void) {
        self.child = child
        self.pipes = pipes
        self.poller = poller
        self.ended = ended
    }

    var processIdentifier: Int32 { child.processIdentifier }

    var isBeingDebugged: Bool { ProcessTracing.isTraced(child.processIdentifier) }

    func signal(_ signal: ChildSignal) {
        // A child that is gone gets no signal; nothing else can go wrong with a handle of this process's own child.
        _ = try? child.signal(signal.number)
    }

    func signal(_ signal: SignalNumber) -> Bool { (try? child.signal(signal.rawValue)) ?? false }

    var usage: ResourceUsage? { child.usage.map(ResourceUsage.init) }

    func onExit(_ handler: @escaping @Sendable (ExitReason) -> Void) throws {
        try child.onExit(on: poller, whenEnded(handler))
    }

    func forceEnd(_ handler: @escaping @Sendable () -> Void) {
        child.forceEnd(on: poller, whenEnded { _ in handler() })
    }

    private func whenEnded(
        _ handler: @escaping @Sendable (ExitReason) -> Void
    ) -> @Sendable (ChildExit) -> Void {
        { [pipes, ended, poller] exit in
            ended(exit)
            // The output that a grandchild prints after the worker's exit is no longer the worker's.
            for pipe in pipes { pipe.finish() }
            // The handler is called after the worker's last lines, which still lie in the pipes.
            let tell: @Sendable () -> Void = { handler(ExitReason(exit.status)) }
            if !poller.perform(tell) { tell() }
        }
    }
}

extension ResourceUsage {
    fileprivate init(_ use: ResourceUse) {
        self.init(
            userTime: .microseconds(Int64(clamping: use.userMicroseconds)),
            systemTime: .microseconds(Int64(clamping: use.systemMicroseconds)),
            peakMemory: use.peakResidentBytes.map { Int(clamping: $0) }
        )
    }
}

extension ExitReason {
    fileprivate init(_ status: ExitStatus) {
        self =
            switch status {
            case .exited(let code): .exited(status: code)
            case .signaled(let signal, let coreDumped): .signaled(number: signal, coreDumped: coreDumped)
            case .reapedElsewhere: .reapedElsewhere
            }
    }
}

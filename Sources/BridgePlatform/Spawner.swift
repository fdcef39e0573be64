import CBridgePlatform
import Locks

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The one thread that starts processes, alive as long as this process.
///
/// A child that asked to be killed when its parent dies is killed when the *thread* that spawned it ends. Threads of
/// pools end at their own discretion, so none of them may spawn.
///
/// `@unchecked Sendable` is sound: `requests` and `isRunning` are touched under `lock` only.
final class Spawner: @unchecked Sendable {
    typealias Completion = @Sendable (Result<ChildProcess, SpawnError>) -> Void

    /// A request, and the closures that the spawner calls.
    struct Order: Sendable {
        let request: SpawnRequest
        let completion: Completion
        /// Called after `completion`, when the spawner holds neither the new process nor the error any more.
        let afterwards: @Sendable () -> Void
    }

    static let shared = Spawner()

    private let lock = Lock()
    private let requestAdded: Condition
    private var requests: [Order] = []
    private var isRunning = false

    private init() {
        requestAdded = Condition(lock: lock)
    }

    /// Starts a process on the spawner's thread, and calls the closures of `order` there.
    func spawn(_ order: Order) throws(SystemError) {
        try lock.withLock { () throws(SystemError) in
            // If the system has no thread left now, the next request tries this again.
            if !isRunning { try PlatformThread.start(name: "spawner") { [self] in run() } }
            isRunning = true
            requests.append(order)
            requestAdded.signal()
        }
    }

    private func run() {
        while true {
            let order = lock.withLock {
                while requests.isEmpty { requestAdded.wait() }
                return requests.removeFirst()
            }
            order.completion(Result { () throws(SpawnError) in try start(order.request) })
            order.afterwards()
        }
    }

    private func start(_ request: SpawnRequest) throws(SpawnError) -> ChildProcess {
        let arguments = try CStringArray([request.name ?? request.executable] + request.arguments)
        let environment = try CStringArray(request.environment.map { "\($0.key)=\($0.value)" })
        let executable = try CStringArray(request.isProbe ? [] : [request.executable])
        let directory = try CStringArray(request.workingDirectory.map { [$0] } ?? [])
        let paths = try CStringArray(request.box?.paths ?? [])
        let reports = try asSpawnError { () throws(SystemError) in try FileDescriptor.pipe() }
        let plan = try asSpawnError { () throws(SystemError) in
            try DescriptorPlan(request, status: reports.writing.rawValue)
        }
        var process: pid_t = 0
        let result = withExtendedLifetime((arguments, environment, executable, directory, paths)) {
            plan.steps.withUnsafeBufferPointer { steps in
                withBox(of: request, paths) { box in
                    var order = cbp_spawn_request(
                        path: executable.pointers[0],
                        arguments: arguments.pointers,
                        environment: environment.pointers,
                        directory: directory.pointers[0],
                        steps: steps.baseAddress,
                        step_count: steps.count,
                        close_from: plan.closesFrom,
                        status: plan.status,
                        guard: plan.guardDescriptor ?? -1,
                        dies_with_parent: request.diesWithParent,
                        descriptors: descriptorLimit(of: request),
                        box: box
                    )
                    return cbp_spawn(&process, &order)
                }
            }
        }
        // If this process kept a writing end open, the reader would never find the end of the pipe.
        plan.close()
        reports.writing.close()
        if result != 0 { throw .failed(SystemError(code: result, operation: request.operation)) }
        let child = try asSpawnError { () throws(SystemError) in
            try ChildProcess(process, killsGroupOnExit: request.killsGroupOnExit)
        }
        try SpawnReports(request: request).wait(for: child, on: reports.reading.rawValue)
        return child
    }

    /// The soft limit that this process had before it raised its own; -1 if it has not, or if the box has a limit,
    /// which may be higher.
    private func descriptorLimit(of request: SpawnRequest) -> Int64 {
        guard request.box?.limits[.openFiles] == nil else { return -1 }
        return CurrentProcess.descriptorLimitBefore.map { Int64(clamping: $0) } ?? -1
    }

    private func asSpawnError<R: ~Copyable>(
        _ body: () throws(SystemError) -> R
    ) throws(SpawnError) -> R {
        do throws(SystemError) {
            return try body()
        } catch {
            throw .failed(error)
        }
    }

    private func withBox<R>(
        of request: SpawnRequest,
        _ paths: CStringArray,
        _ body: (UnsafePointer<cbp_box>?) -> R
    ) -> R {
        guard let box = request.box else { return body(nil) }
        return box.withC(paths, body)
    }
}

/// Which descriptor of this process becomes which of the child's, as steps that can be taken in any order.
private struct DescriptorPlan {
    private(set) var steps: [cbp_spawn_step] = []
    let closesFrom: CInt
    /// The writing end of the pipe through which the child reports what fails.
    let status: CInt
    /// The connection to the guard.
    let guardDescriptor: CInt?
    /// Copies of descriptors that a step could overwrite before their turn.
    private let moved: SharedDescriptors

    /// - Parameter status: the descriptor of which the child gets a copy for its reports.
    init(_ request: SpawnRequest, status: CInt) throws(SystemError) {
        let highest = request.descriptors.map(\.child).max() ?? STDERR_FILENO
        closesFrom = highest + 1
        moved = SharedDescriptors()
        self.status = try moved.duplicate(status, atLeast: closesFrom)
        if let source = request.guardDescriptor {
            guardDescriptor = try moved.duplicate(source, atLeast: closesFrom)
        } else {
            guardDescriptor = nil
        }
        var taken = Set<CInt>([STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO])

        let streams = [
            (STDIN_FILENO, request.standardInput), (STDOUT_FILENO, request.standardOutput),
            (STDERR_FILENO, request.standardError),
        ]
        for (target, stream) in streams {
            let null = target == STDIN_FILENO ? cbp_spawn_null_for_reading : cbp_spawn_null_for_writing
            switch stream {
            case .nullDevice: add(null, 0, target)
            case .inherit where !FileDescriptor.isOpen(target): add(null, 0, target)
            case .inherit: try addDuplicate(of: target, as: target)
            case .descriptor(let source): try addDuplicate(of: source, as: target)
            }
        }
        for passed in request.descriptors {
            taken.insert(passed.child)
            try addDuplicate(of: passed.parent, as: passed.child)
        }
        // The child is to have nothing under these numbers, and closing from `closesFrom` on does not reach them.
        for hole in 0..<closesFrom where !taken.contains(hole) { add(cbp_spawn_close, 0, hole) }
    }

    /// Closes this process's copies; the child, once started, has copies of its own.
    func close() { moved.close() }

    private mutating func addDuplicate(of source: CInt, as target: CInt) throws(SystemError) {
        if source >= closesFrom {
            add(cbp_spawn_duplicate, source, target)
        } else {
            // The number may be the target of another step, which must not overwrite it before this step.
            add(cbp_spawn_duplicate, try moved.duplicate(source, atLeast: closesFrom), target)
        }
    }

    private mutating func add(_ kind: cbp_spawn_step_kind, _ source: CInt, _ target: CInt) {
        steps.append(cbp_spawn_step(kind: kind, source: source, target: target))
    }
}

/// Duplicates that are closed together.
private final class SharedDescriptors {
    private var owned: [SharedDescriptor] = []

    func duplicate(_ number: CInt, atLeast minimum: CInt) throws(SystemError) -> CInt {
        let copy = SharedDescriptor(try FileDescriptor.duplicate(number, atLeast: minimum))
        owned.append(copy)
        return copy.rawValue
    }

    func close() { owned = [] }
}

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
        /// Called when the spawner has released what it gave to `completion`.
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
        guard let launcher = request.launcher else { return try startDirectly(request, for: request) }
        return try LaunchedSpawn(request, launcher).start { call throws(SpawnError) in
            try startDirectly(call, for: request)
        }
    }

    /// - Parameter asked: the request that errors name.
    private func startDirectly(_ request: SpawnRequest, for asked: SpawnRequest) throws(SpawnError) -> ChildProcess {
        let arguments = try CStringArray([request.name ?? request.executable] + request.arguments)
        let environment = try CStringArray(request.environment.map { "\($0.key)=\($0.value)" })
        let plan: DescriptorPlan
        do throws(SystemError) {
            plan = try DescriptorPlan(request)
        } catch {
            throw .failed(error)
        }
        var process: pid_t = 0
        let result = plan.steps.withUnsafeBufferPointer { steps in
            cbp_spawn(
                &process,
                request.executable,
                arguments.pointers,
                environment.pointers,
                request.workingDirectory,
                steps.baseAddress,
                steps.count,
                plan.closesFrom
            )
        }
        withExtendedLifetime(plan.moved) {}
        if result != 0 { throw .failed(explain(result, asked)) }
        do throws(SystemError) {
            return try ChildProcess(process, killsGroupOnExit: request.killsGroupOnExit)
        } catch {
            throw .failed(error)
        }
    }

    /// The error of a failed start; this checks whether the kernel's number is about the program or the directory.
    private func explain(_ code: CInt, _ request: SpawnRequest) -> SystemError {
        if let directory = request.workingDirectory, [ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG].contains(code) {
            let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            if descriptor < 0, errno == code {
                let what = "spawn of \(request.executable) in the working directory \(directory)"
                return SystemError(code: code, operation: what)
            }
            if descriptor >= 0 { FileDescriptor(owning: descriptor).close() }
        }
        return SystemError(code: code, operation: request.operation)
    }
}

/// Which descriptor of this process becomes which of the child's, as steps that can be taken in any order.
private struct DescriptorPlan {
    private(set) var steps: [cbp_spawn_step] = []
    let closesFrom: CInt
    /// Copies of sources that would be overwritten before their turn; closed when the plan goes.
    let moved: SharedDescriptors

    init(_ request: SpawnRequest) throws(SystemError) {
        let highest = request.descriptors.map(\.child).max() ?? STDERR_FILENO
        closesFrom = highest + 1
        moved = SharedDescriptors()
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
        // The child gets no descriptor of this number, and closing from `closesFrom` on does not reach the number.
        for hole in 0..<closesFrom where !taken.contains(hole) { add(cbp_spawn_close, 0, hole) }
    }

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
}

/// Strings as `execve` wants them: pointers to NUL-terminated copies, and a null pointer at the end.
private final class CStringArray {
    let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    private let count: Int

    init(_ strings: [String]) throws(SpawnError) {
        count = strings.count
        pointers = .allocate(capacity: count + 1)
        pointers.initialize(repeating: nil, count: count + 1)
        for (index, string) in strings.enumerated() {
            pointers[index] = strdup(string)
            if pointers[index] == nil { throw .failed(SystemError(code: ENOMEM, operation: "copying the arguments")) }
        }
    }

    deinit {
        for index in 0..<count { free(pointers[index]) }
        pointers.deallocate()
    }
}

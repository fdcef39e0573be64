import BridgePlatform
import DomainEvents
import EventBridge
import FoundationEssentials
import Locks
import Supervision
import Testing

/// A directory that is removed with the test.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/event-bridge-" + String(randomUInt64(), radix: 16)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// Holds threads up while it is closed.
final class Barrier: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private let changed: Condition
    private var isOpen: Bool

    init(isOpen: Bool = false) {
        self.isOpen = isOpen
        changed = Condition(lock: lock)
    }

    func wait() {
        lock.withLock {
            while !isOpen { changed.wait() }
        }
    }

    func open() {
        lock.withLock {
            isOpen = true
            changed.broadcast()
        }
    }

    func close() {
        lock.withLock { isOpen = false }
    }
}

/// Descriptors and children of this process; code that cleans up after itself leaves nothing new among them.
struct Possessions: CustomStringConvertible {
    /// Each with its target, so that a new descriptor is not taken for an old one that was closed meanwhile.
    let descriptors: Set<String>
    let children: Set<Int32>

    init() throws {
        descriptors = Set(
            try CurrentProcess.openDescriptors().compactMap { descriptor in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
                // Dispatch opens timers when it first needs them, and keeps them. A poller's is left out too.
                if target?.hasSuffix("[timerfd]") == true { return nil }
                return "\(descriptor): \(target ?? "closed meanwhile")"
            }
        )
        var children: Set<Int32> = []
        let own = CurrentProcess.identifier
        for task in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task") {
            let list = (try? String(contentsOfFile: "/proc/\(own)/task/\(task)/children", encoding: .utf8)) ?? ""
            children.formUnion(list.split(separator: " ").compactMap { Int32($0) })
        }
        self.children = children
    }

    func isWithin(_ other: Possessions) -> Bool {
        descriptors.isSubset(of: other.descriptors) && children.isSubset(of: other.children)
    }

    var description: String { "descriptors \(descriptors.sorted()), children \(children.sorted())" }
}

/// The environment of workers in tests: no crash report, which takes longer than the test, and the sanitizer's options,
/// so that a race in a worker ends it and is seen.
let workerEnvironment = CurrentProcess.sanitizerOptions.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }

/// The time of a worker for its handshake and for its end, where a test is not about these: a slow or busy machine
/// misses no deadline.
let patience = Duration.seconds(240)

/// A specification of the worker that goes wrong on demand.
func faulty(
    _ misbehaviour: String,
    name: String = "faulty",
    restart: RestartType = .permanent,
    backoff: Backoff = .exponential(from: .milliseconds(10), to: .milliseconds(100)),
    handshakeTimeout: Duration = patience,
    heartbeat: Heartbeat = Heartbeat(every: .seconds(60)),
    shutdown: ShutdownSequence = .draining(grace: patience, terminate: patience),
    subscribes: [any DomainEvent.Type],
    limits: WorkerLimits = WorkerLimits(),
    box: WorkerBox? = nil,
    allowsControl: Bool = false
) -> WorkerSpecification {
    WorkerSpecification(
        name,
        executable: .beside("faulty-worker"),
        arguments: ["--misbehave", misbehaviour],
        environment: workerEnvironment,
        subscribes: subscribes,
        restart: restart,
        backoff: backoff,
        handshakeTimeout: handshakeTimeout,
        heartbeat: heartbeat,
        shutdown: shutdown,
        limits: limits,
        box: box,
        allowsControl: allowsControl
    )
}

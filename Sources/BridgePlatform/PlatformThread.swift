import CBridgePlatform
import Locks

/// Threads of the operating system, for work that may block, such as that of pollers, link readers and the spawner.
///
/// These threads block all signals that another thread could take, from their first moment, so that a program's signals
/// land where the program expects them. The signals of a thread's own faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP,
/// SIGABRT, SIGSYS, SIGXFSZ) stay open, so that crash reporters still see them.
package final class PlatformThread: Sendable {
    private let handle: Handle
    private let lock = Lock()
    private let isSettled: Settled

    /// `@unchecked Sendable` is sound: `value` is touched under the thread object's lock only.
    private final class Settled: @unchecked Sendable {
        var value = false
    }

    private enum Handle: Sendable {
        case thread(UInt)
        /// A thread of the simulation that its starter belongs to; `join` waits for its end.
        case simulated(join: @Sendable () -> Void)
    }

    private init(handle: Handle) {
        self.handle = handle
        isSettled = Settled()
    }

    deinit {
        if case .thread(let handle) = handle, claim() { _ = cbp_thread_detach(handle) }
    }

    /// Starts a thread for whose end no other thread waits.
    ///
    /// - Parameters:
    ///   - name: shown by debuggers and `top`, which show the characters that fit into its first 15 bytes.
    ///   - stackSize: in bytes, at least 128 KiB; 0 means the system's default.
    package static func start(
        name: String,
        stackSize: Int = 0,
        _ body: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        _ = try launch(name: name, stackSize: stackSize, isDetached: true, body)
    }

    /// Starts a thread whose end `join()` waits for.
    package static func startJoinable(
        name: String,
        stackSize: Int = 0,
        _ body: @escaping @Sendable () -> Void
    ) throws(SystemError) -> PlatformThread {
        PlatformThread(handle: try launch(name: name, stackSize: stackSize, isDetached: false, body))
    }

    /// Waits until the thread has ended.
    ///
    /// Only the first of several calls waits; a thread cannot join itself.
    package func join() {
        guard claim() else { return }
        switch handle {
        case .thread(let handle): _ = cbp_thread_join(handle)
        case .simulated(let join): join()
        }
    }

    private func claim() -> Bool {
        lock.withLock {
            defer { isSettled.value = true }
            return !isSettled.value
        }
    }

    private static func launch(
        name: String,
        stackSize: Int,
        isDetached: Bool,
        _ body: @escaping @Sendable () -> Void
    ) throws(SystemError) -> Handle {
        if let thread = Simulation.thread { return .simulated(join: thread.start(name: name, body)) }
        let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
        var handle: UInt = 0
        let result = cbp_thread_start(
            max(0, stackSize),
            isDetached ? 1 : 0,
            { context in Unmanaged<ThreadStart>.fromOpaque(context).takeRetainedValue().run() },
            start.toOpaque(),
            &handle
        )
        if result != 0 {
            start.release()
            throw SystemError(code: result, operation: "starting the thread \(name)")
        }
        return .thread(handle)
    }
}

private final class ThreadStart {
    private let name: String
    private let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }

    func run() {
        cbp_thread_set_name(shortened(name))
        body()
    }
}

/// The characters at the name's beginning that fit into 15 bytes: Linux refuses a longer name altogether.
private func shortened(_ name: String) -> String {
    var count = 0
    let beginning = name.prefix { character in
        count += character.utf8.count
        return count <= 15
    }
    return String(beginning)
}

import BridgePlatform
import BridgeTransport
public import DomainEvents

/// Turns a program into a worker of an event bridge.
///
/// ```swift
/// @main struct ProvisioningWorker {
///     static func main() async {
///         await BridgeWorker.main { publisher in
///             let provisioning = Provisioning(publisher: publisher)
///             return [publisher.subscribe(to: BoxOrdered.self) { await provisioning.provision($0) }]
///         }
///     }
/// }
/// ```
///
/// What the worker publishes reaches subscribers in the supervisor's process and in other workers, and the other way
/// round. The process ends when the supervisor asks for that, and when the supervisor is gone.
public enum BridgeWorker {
    /// Runs the program as a worker until the supervisor stops it, then ends the process.
    ///
    /// This never throws. A failure becomes one sentence on standard error and an exit status: 64 if the error's code
    /// is `notStartedBySupervisor`, as after a start by hand, and 70 for every other failure.
    ///
    /// - Parameter body: subscribes, and returns the subscriptions to keep. The worker is ready when `body` has
    ///   returned and no `ReadinessHold` is left.
    public static func main(_ body: @escaping @Sendable (EventPublisher) async throws -> [Subscription]) async {
        await end { try await run(body) }
    }

    /// Runs the program as a worker made of loops: `body` subscribes, and then serves until the worker is stopped.
    ///
    /// The worker is ready when `body` has called `publisher.serve()` or returned, and no `ReadinessHold` is left.
    public static func main(_ body: @escaping @Sendable (EventPublisher) async throws -> Void) async {
        await end { try await run(body) }
    }

    /// Runs a worker until the supervisor stops it; the throwing form of `main(_:)`.
    ///
    /// - Throws: ``WorkerError``, or what `body` throws.
    public static func run(_ body: @escaping @Sendable (EventPublisher) async throws -> [Subscription]) async throws {
        let session = try takeSession()
        let subscriptions = KeptSubscriptions()
        try await session.run { publisher in subscriptions.keep(try await body(publisher)) }
        withExtendedLifetime(subscriptions) {}
    }

    /// Runs a worker made of loops until the supervisor stops it.
    ///
    /// - Throws: ``WorkerError``, or what `body` throws.
    public static func run(_ body: @escaping @Sendable (EventPublisher) async throws -> Void) async throws {
        try await takeSession().run(body)
    }

    private static func end(_ work: () async throws -> Void) async -> Never {
        do {
            try await work()
            CurrentProcess.exit(0)
        } catch let error as WorkerError where error.code == .notStartedBySupervisor {
            CurrentProcess.report(error.description)
            CurrentProcess.exit(ExitCode.usage)
        } catch {
            CurrentProcess.report("\(error)")
            CurrentProcess.exit(ExitCode.software)
        }
    }

    private static func takeSession() throws(WorkerError) -> ProcessSession {
        let inherited = try InheritedLink.take()
        // The program's output leaves line by line, so that a crash loses no finished line.
        CurrentProcess.printByLine()
        do throws(SystemError) {
            return try ProcessSession(inherited)
        } catch {
            throw WorkerError(error)
        }
    }

    /// Exit statuses of sysexits.h.
    private enum ExitCode {
        static let usage: CInt = 64
        static let software: CInt = 70
    }
}

extension EventPublisher {
    /// Says that the worker's body is ready, and returns when the worker has been stopped.
    ///
    /// The host learns that the worker is ready when no ``ReadinessHold`` is left.
    /// - Throws: ``WorkerError`` outside a worker and in a detached task, or if the link fails.
    public func serve() async throws {
        guard let session = WorkerSession.current else {
            throw WorkerError(.notStartedBySupervisor, "serve() was called outside a worker")
        }
        session.becomeReady()
        if case .failed(let error) = await session.waitForEnd() { throw error }
    }
}

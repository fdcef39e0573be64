import BridgePlatform
public import DomainEvents
package import EventRouting
import Locks
package import NamedSockets
public import Supervision

/// The parent's side of an event bridge: runs workers and carries typed domain events between them and its publisher.
///
/// ```swift
/// let bridge = try BridgeHost(publisher: publisher, workers: [
///     WorkerSpecification("provisioning", executable: .beside("provisioning-worker"),
///                         subscribes: [BoxOrdered.self, ItemReceived.self]),
/// ])
/// try await bridge.start()
/// publisher.publish(BoxOrdered(label: "Books", capacity: 10))     // reaches the worker; BoxProvisioned comes back
/// await bridge.shutdown()
/// ```
///
/// The bridge reports about itself on the same publisher, with events such as ``WorkerReady``, ``WorkerExited``,
/// ``WorkerGaveUp``, ``WorkerOutput``, ``EventsLost``, `EventRefused` and `EventsDropped`. Workers are separate
/// processes: a worker that crashes takes nothing else with it. The bridge restarts the worker as its specification
/// says, and sends again the events that the worker had not acknowledged. If a worker crashes over one event again and
/// again, the bridge keeps that event in ``deadLetters`` instead.
///
/// Inline handlers of events from a worker run on a thread of that worker's link; other handlers run where their
/// subscription says. Inline handlers of the bridge's reports run on a thread of their own: a slow one holds up only
/// other reports, and calls that wait for reports, such as ``start()``. Such a call returns when the reports are
/// delivered, or when one handler of a report has taken five seconds. Any thread may use all members.
public final class BridgeHost: Sendable {
    let core: HostCore
    let attached: AttachedClients?
    private let service: ControlService?
    let lifecycle = HostLifecycle()

    /// Makes a bridge; nothing runs before ``start()``.
    ///
    /// - Parameters:
    ///   - publisher: its events go to the workers, and the events of the workers are published on it.
    ///   - workers: the workers, in the order of their start.
    ///   - strategy: which other workers are restarted with a worker; none by default.
    ///   - intensity: how many restarts a worker may have before it is given up; 5 within 10 s by default.
    ///   - automaticShutdown: whether the end of significant workers ends all workers; never by default.
    ///   - startOrder: whether each worker waits until the workers before it are ready; by default none waits.
    ///   - deadLetters: how many of the events that could not be handled are kept.
    ///   - workerGuard: whether `bridge-guard` watches over the workers.
    ///   - control: where other processes of this user attach with `BridgeClient`; nil, the default, if none may.
    ///   - output: gets the lines that workers print within `WorkerLimits.output`, on a thread that it must not hold
    ///     up. With nil, the default, each such line is published as ``WorkerOutput``. A line without a subscriber in
    ///     this process or in a worker goes to standard error, after the worker's name, as far as standard error takes
    ///     it without waiting.
    /// - Throws: ``BridgeError`` if there are mistakes, all of which it names, or if the system refuses resources.
    public convenience init(
        publisher: EventPublisher,
        workers: [WorkerSpecification],
        strategy: RestartStrategy = .oneForOne,
        intensity: RestartIntensity = RestartIntensity(),
        automaticShutdown: AutomaticShutdown = .never,
        startOrder: StartOrder = .together,
        deadLetters: DeadLetterLimits = DeadLetterLimits(),
        workerGuard: WorkerGuard = .automatic,
        control: ControlSocket? = nil,
        output: (@Sendable (WorkerOutput) -> Void)? = nil
    ) throws {
        try self.init(
            publisher: publisher,
            workers: workers,
            strategy: strategy,
            intensity: intensity,
            automaticShutdown: automaticShutdown,
            startOrder: startOrder,
            deadLetters: deadLetters,
            launcher: ProcessLauncher(workerGuard),
            control: control,
            output: output
        )
    }

    package init(
        publisher: EventPublisher,
        workers: [WorkerSpecification],
        strategy: RestartStrategy = .oneForOne,
        intensity: RestartIntensity = RestartIntensity(),
        automaticShutdown: AutomaticShutdown = .never,
        startOrder: StartOrder = .together,
        deadLetters: DeadLetterLimits = DeadLetterLimits(),
        launcher: (any WorkerLauncher)?,
        control: ControlSocket? = nil,
        entrance: EntranceMaker? = nil,
        output: (@Sendable (WorkerOutput) -> Void)? = nil,
        wantsEverything: Bool = false,
        tap: (@Sendable (PassingEvent) -> Void)? = nil,
        tapsUnwanted: Bool = true
    ) throws {
        let mistakes =
            WorkerSpecification.validate(workers, automaticShutdown: automaticShutdown) + intensity.validate()
            + deadLetters.validate() + (control?.validate() ?? [])
        guard mistakes.isEmpty else {
            throw BridgeError(.invalidSpecification, mistakes.joined(separator: "\n"))
        }
        let poller: Poller
        do {
            poller = try Poller(name: "bridge")
        } catch {
            throw BridgeError(.system, "the bridge cannot be made: \(error)")
        }
        core = HostCore(
            publisher: publisher,
            workers: workers,
            rules: WorkerRules(
                strategy: strategy,
                intensity: intensity,
                automaticShutdown: automaticShutdown,
                startOrder: startOrder
            ),
            launcher: launcher ?? ProcessLauncher(),
            poller: poller,
            deadLetters: deadLetters.bounds,
            output: output,
            wantsEverything: wantsEverything,
            tap: tap,
            tapsUnwanted: tapsUnwanted
        )
        attached = control.map { [core] control in
            AttachedClients(
                control,
                router: core.router,
                poller: poller,
                workers: core.peers.map(\.peerName),
                entrance: entrance
            ) { [weak core] process in core?.workerWithoutControl(behind: process) }
        }
        service = attached.map { [core] attached in ControlService(core, attached) }
    }

    /// Kills the workers of a bridge that was not shut down, and says on standard error what they had not handled.
    deinit {
        if lifecycle.end() == .running, let loss = ShutdownReport(core.leftovers).loss {
            // This must not block: any thread may release the last reference.
            UnwaitedOutput.sayOnStandardError(loss)
        }
        abandon()
    }

    /// Ends everything at once, without a goodbye.
    package func abandon() {
        _ = lifecycle.end()
        attached?.close()
        core.abandon()
        lifecycle.ended()
    }

    /// Starts all workers and returns when every worker is ready or, on demand, waits for its first event.
    ///
    /// If a journal records from the publisher, the workers first get what an earlier host owed them: the events that
    /// the journal recorded and that they have not settled, in order, with their old identities and a higher attempt.
    /// After that come the events that workers had published and an earlier host had not recorded when both were
    /// killed; they have a higher attempt, too. This call waits up to ten seconds for the ends of such workers.
    ///
    /// A worker that crashes before it is ready is restarted as its specification says. A worker that never becomes
    /// ready is given up after as many restarts as the `intensity` allows, however long its starts take: the time of a
    /// failed start does not count towards the intensity's time, `within`. With the defaults this call returns within
    /// 70 s: six times the ten seconds of `handshakeTimeout`, the ends of these processes, and the back-offs between
    /// them. It takes longer if a worker asks for more time, or if back-offs are longer than `within`.
    /// - Throws: ``BridgeError`` that names the worker that did not become ready, and why; the others run on until
    ///   ``shutdown(drainingWithin:)``. ``BridgeError`` if the control socket cannot be made, or if the files that tell
    ///   what killed hosts have left cannot be read: then nothing was started, and the caller may try again.
    ///   ``BridgeError`` if the bridge was started before, or shut down before a worker was started.
    ///   `CancellationError` if the task was cancelled. If nothing was started before the cancellation, the caller may
    ///   try again; otherwise the started workers run on until ``shutdown(drainingWithin:)``.
    public func start() async throws { try await start(endingIfCancelled: false) }

    /// Does the same as ``start()``.
    ///
    /// - Parameter mayEnd: whether the caller shuts the bridge down after a cancellation. Then a cancellation also ends
    ///   the recovery of what earlier workers have left. No worker is started, and the next host recovers the rest.
    func start(endingIfCancelled mayEnd: Bool) async throws {
        try Task.checkCancellation()
        guard lifecycle.begin() else { throw BridgeError(.wrongState, "the bridge has been started before") }
        let left: LeftOutboxes?
        do {
            left = try core.findLeftOutboxes()
            // This may take long, and a client that came before it would have to wait until routing begins.
            core.takeUpOwed()
            service?.open()
            try attached?.open { [weak service] in service?.report() }
        } catch {
            service?.close()
            lifecycle.beginningFailed()
            throw error
        }
        core.startRouting()
        attached?.routingBegan()
        lifecycle.beganRunning()
        if let left {
            lifecycle.recoveryBegan()
            await withTaskCancellationHandler {
                await left.recover()
            } onCancel: {
                if mayEnd { Simulation.undivided { core.router.closeIntake() } }
            }
            lifecycle.recoveryEnded()
        }
        switch await core.start() {
        case .ready: return
        case .cancelled: throw CancellationError()
        case .stopped:
            // The shutdown may have run before there was anything to close.
            attached?.stopAccepting()
            service?.close()
            core.router.stop()
            try Task.checkCancellation()
            throw BridgeError(.wrongState, "the bridge was shut down while it was starting")
        case .failed(let failure):
            throw BridgeError.notReady(failure, lastOutput: core.worker(failure.index).lastOutput)
        }
    }

    /// Lets events that are on their way arrive, then asks the workers to finish, one after the other in reverse order,
    /// and returns when all have ended.
    ///
    /// From the beginning of the shutdown, only events of handlers, of the bridge and of other processes still pass. In
    /// other code, `send`, `deliver` and `request` throw `DeliveryError.Code.shuttingDown`, and events that are given
    /// to `publish` reach no worker (`EventsDropped` announces that). A worker that does not finish within its grace is
    /// ended by signals. Afterwards the bridge cannot be started again. A second call returns when the first one does.
    ///
    /// - Parameter limit: how long the bridge may wait until all events that are on their way, and all that follows
    ///   from them, are handled.
    /// - Returns: What was left unhandled.
    @discardableResult
    public func shutdown(drainingWithin limit: Duration = .seconds(5)) async -> ShutdownReport {
        guard lifecycle.end() != .ending else {
            await lifecycle.waitUntilEnded()
            return ShutdownReport(core.leftovers)
        }
        attached?.stopAccepting()
        core.router.closeIntake()
        // The recovery ends first. A stopped worker takes no events, so an event that is recovered for it would be
        // recorded as owed to no receiver. But the wait has a limit, because a handler of such an event may wait for a
        // worker, which is not started any more.
        if lifecycle.isRecovering {
            await core.wait(atMost: limit) { [lifecycle] in await lifecycle.waitUntilRecovered() }
        }
        // Before the start of the workers nothing is on its way: what an earlier host owed would wait in vain.
        if core.isStartRequested { await core.settle(within: limit) }
        await core.stop()
        attached?.close()
        service?.close()
        lifecycle.ended()
        return ShutdownReport(core.leftovers)
    }

    /// Returns when all workers have ended for good, by ``shutdown(drainingWithin:)``, ``escalateShutdown()`` or the
    /// automatic shutdown of the bridge.
    ///
    /// A bridge that was shut down without a start has stopped, too. Use this in a program that lives as long as its
    /// significant workers do. The program still calls ``shutdown(drainingWithin:)`` afterwards, whose report says how
    /// many events were left.
    public func waitUntilStopped() async { await core.waitUntilStopped() }

    /// The processes that are attached through the control socket, in the order in which they attached.
    public var clients: [ClientStatus] { attached?.statuses ?? [] }

    /// Speeds up a shutdown, or stops the workers if none is under way: the first call ends workers at once by the
    /// signals of their shutdown sequences (SIGTERM first, by default), the second by SIGKILL.
    public func escalateShutdown() {
        core.escalate()
    }

    /// The workers' states, in the order of their specifications.
    public var status: [ChildStatus] { core.status }

    /// Starts a worker again and forgets its failures; a running worker is stopped first.
    ///
    /// The name of a pool stands for all its members.
    public func restart(_ worker: String) {
        for index in core.indices(of: worker) { core.restart(index) }
    }

    /// Stops a worker, which stays `stopped` until ``restart(_:)``.
    ///
    /// The bridge asks the worker to finish what it has, and ends it by signals if it does not. This call returns at
    /// once; ``status`` and ``statusUpdates`` show when the worker is down. Until the worker is down, the bridge
    /// still accepts events for it; events that the worker has not acknowledged at its end stay in its outbox for its
    /// restart. While the worker is down, the bridge takes none of the events in its specification: `send`, `deliver`
    /// and `request` throw `DeliveryError.Code.workerUnavailable`, and `publish` drops them for this worker and
    /// announces that (`EventsDropped`). The bridge forgets names that the process wanted beyond its specification. No
    /// other worker is stopped along with this worker, whatever the strategy. A worker that is already down or going
    /// down stays down; a worker that was given up stays given up.
    ///
    /// The name of a pool stands for all its members. If all members are stopped, their events are not taken; if only
    /// some are, the others get the events for ``PoolKey/anyMember``. If no worker has the name, nothing happens.
    public func stop(_ worker: String) {
        for index in core.indices(of: worker).reversed() { core.stopWorker(index) }
    }

    /// The workers that a caller or client has stopped, and that a request may start again; none once the bridge ends.
    package var stoppedWorkers: [String] { core.stoppedOnRequest }

    /// Returns when nothing is on its way.
    ///
    /// Every worker that wants an event has then handled it, and everything that followed from it is handled too. That
    /// includes events that a worker's own threads have published, if the worker shares its outbox with the host. Of
    /// any other worker the host knows only the events that have arrived.
    ///
    /// This does not wait for workers that were given up or stopped. Such a worker counts again once ``restart(_:)``
    /// was called for it. This does not wait for events that are held back because the dead letters are full.
    public func waitUntilIdle() async {
        await core.waitUntilIdle()
    }

    /// How many accepted events each worker has not acknowledged; workers without any are left out.
    package var leftovers: [(worker: String, events: Int)] { core.leftovers }

    /// Publishes an event whose type this process does not know.
    ///
    /// - Parameter context: the context that the bridge's publisher has made for the event, if the caller has to know
    ///   the event's identity beforehand.
    package func publish(
        name: String,
        payload: [UInt8],
        context: EventContext? = nil
    ) -> Result<Int, DeliveryError> {
        payload.withUnsafeBytes { core.router.publish(name: name, payload: $0, context: context) }
    }

    /// Whether a worker, an attached client or a subscriber wants the events of this name.
    package func isWanted(_ name: String) -> Bool { core.router.isWanted(name) }

    /// The names of all events that some worker wants.
    package var namesWantedByWorkers: [String] { core.router.namesWantedByPeers }

    /// Whether every worker that wants the events of this name has room for one more.
    package func hasRoom(name: String) -> Bool { core.router.hasRoom(name: name) }

    /// Returns when every worker that gets the event has room for it, or will never have any.
    ///
    /// - Parameter payload: chooses the members of pools; nil to wait for all members.
    package func waitForRoom(name: String, payload: [UInt8]? = nil) async {
        await core.router.waitForRoom(name: name, payload: payload)
    }
}

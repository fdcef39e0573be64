import BridgeClient
import BridgePlatform
import BridgeTransport
public import DomainEvents
import Locks

/// A client of a world's host: a process that attaches to the host, and that the host has not started.
public final class SimulatedClient: @unchecked Sendable {
    // Sendable: everything mutable belongs to the thread that has the world's baton.

    /// The client's own publisher; its events go to the host.
    public let publisher: EventPublisher
    let life: SimulatedProcess
    private let core: WorldCore
    private let wantsEverything: Bool
    private var client: BridgeClient?
    private var subscriptions: [Subscription] = []
    /// Whether the client has attached, or its process has ended.
    private var isSettled = false
    /// The callers of ``begin(_:)`` that wait until the client is settled.
    private var waiters: [CheckedContinuation<Void, Never>] = []

    /// The pause between the tries of a client that has not been attached yet.
    private static let pause = Duration.milliseconds(100)

    init(_ name: String, wantsEverything: Bool, in core: WorldCore) {
        self.core = core
        self.wantsEverything = wantsEverything
        let process = core.scheduler.makeProcess(name: name)
        life = SimulatedProcess(name: name, number: core.nextNumber(of: name), process: process, in: core)
        publisher = EventPublisher(source: EventSource(origin: name, incarnation: Randomness.nextIncarnation()))
        life.buried { [self] in (client, subscriptions) = (nil, []) }
    }

    /// Whether the host has accepted this client and the link is open.
    public var isAttached: Bool { !life.hasEnded && client?.isAttached == true }

    /// Whether the client's process has ended.
    public var hasEnded: Bool { life.hasEnded }

    /// Lets the events that are on their way arrive, says goodbye and ends the process.
    public func close() async {
        guard !life.hasEnded else { return }
        await client?.close()
        life.end(.status(0), because: "has finished")
    }

    // MARK: - The process

    /// Starts the client, and returns when it has attached or its process has ended.
    func begin(_ body: @escaping @Sendable (EventPublisher) async throws -> [Subscription]) async {
        core.tell("\(life.name) \(life.number) starts")
        life.decideFate("client:\(life.name)", UInt64(life.number) << 8)
        _ = core.scheduler.start(name: "system", in: core.system) { [self] in reap() }
        Task(executorPreference: life.process.executor) { [self] in
            do {
                subscriptions = try await body(publisher)
                try await attach()
                settle()
            } catch is CancellationError {
            } catch {
                core.fail("client \(life.name) cannot attach: \(error)")
            }
        }
        await withCheckedContinuation { continuation in
            if isSettled { continuation.resume() } else { waiters.append(continuation) }
        }
    }

    private func attach() async throws {
        let (core, life) = (core, life)
        while client == nil {
            try core.checkOpen()
            do {
                client = try await BridgeClient.connect(
                    to: "the simulated host",
                    publisher: publisher,
                    name: life.name,
                    wantsEverything: wantsEverything,
                    way: Way(core: core, life: life),
                    tap: core.tap(of: life.name),
                    gapTap: nil
                )
            } catch {
                // There is no host to attach to: it was killed, or is still starting.
                core.tell("\(life.name) is not attached: \(error)")
                try await Simulation.thread?.sleep(for: Self.pause)
            }
        }
    }

    /// Notes that the client has attached, or that its process has ended, and wakes the callers of ``begin(_:)``.
    private func settle() {
        isSettled = true
        for waiter in waiters { waiter.resume() }
        waiters = []
    }

    /// Waits for the end of the process and closes what the process had open; runs on a thread of the system.
    private func reap() {
        core.scheduler.waitForDeath(of: life.process)
        guard life.hasEnded else { return }
        let delay = core.choose(.lateExits, "client:\(life.name)", UInt64(life.number) << 8 + 16, below: 300_000_000) {
            $0.nextOfAnySize(upTo: 300_000_000)
        }
        core.scheduler.sleep(nanoseconds: delay)
        life.stream?.close()
        settle()
    }

    /// Connects the client to the host that the world's present entrance leads to.
    private struct Way: WayToHost {
        let core: WorldCore
        let life: SimulatedProcess

        func connect(on poller: Poller) throws(BridgeClientError) -> any ByteStream {
            if let stream = core.entrance?.connect(life, poller: poller) { return stream }
            throw BridgeClientError(.unreachable, "no host can be reached")
        }
    }
}

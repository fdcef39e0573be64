import BridgePlatform
public import DomainEvents
import Locks

/// Faults that a test causes itself.
extension SimulationWorld {
    /// Ends the process of a worker or client now, at its present step.
    public func crash(_ name: String, _ exit: SimulatedExit = .signal(9)) {
        guard let process = living(name) else { return }
        core.wasMet("crash")
        process.end(exit, because: "is ended: \(exit)")
    }

    /// Ends the caller's simulated process at once, as `exit` and `fatalError` do in a real process.
    public func exitHere(_ exit: SimulatedExit) {
        let process = core.scheduler.current()?.process
        guard let found = core.processes.last(where: { $0.process === process }) else { return }
        core.wasMet("exit")
        found.end(exit, because: "ends itself: \(exit)")
        core.scheduler.yieldIfDead()
    }

    /// Ends the worker's next process when it gets an event of this type, before any inline handler gets the event.
    public func crash<E: DomainEvent>(
        _ worker: String,
        whenHandling type: E.Type,
        _ exit: SimulatedExit = .signal(9)
    ) {
        let core = core
        core.doomed[worker, default: []].append(
            WorldCore.Doom(event: E.eventName, exit: exit) { publisher, act in
                publisher.subscribe(to: type) { (_: E) in
                    core.wasMet("crash")
                    act()
                }
            }
        )
    }

    /// Lets the process of a worker or client stand still for this time, as SIGSTOP does.
    public func stop(_ name: String, for duration: Duration) {
        living(name)?.standStill(for: duration.simulatedNanoseconds)
    }

    /// Limits how many bytes a worker or client reads in a second from now on; 0 for no limit.
    public func slow(_ name: String, bytesPerSecond: Int) {
        core.tell("\(name) reads \(bytesPerSecond) bytes a second")
        living(name)?.slow(to: UInt64(max(0, bytesPerSecond)))
    }

    /// Makes the next frame that a worker or client begins to write break the protocol.
    public func breakProtocol(_ name: String) {
        guard let process = living(name) else { return }
        core.wasMet("broken protocol")
        core.tell("\(name) breaks the protocol")
        core.mayViolate.insert(name)
        process.stream?.garble()
    }

    /// Sets the wall clock forward or back.
    public func setWallClock(by duration: Duration) {
        let (seconds, attoseconds) = duration.components
        core.setWallClock(by: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// Stops the whole world for this time, like a paused virtual machine; work that became due runs right afterwards.
    public func standStill(for duration: Duration) { core.standStill(for: duration.simulatedNanoseconds) }

    private func living(_ name: String) -> SimulatedProcess? {
        core.processes.last { $0.name == name && !$0.hasEnded }
    }
}

extension Duration {
    /// The duration in nanoseconds, at least 0.
    var simulatedNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        return UInt64(clamping: seconds) &* 1_000_000_000 &+ UInt64(max(0, attoseconds)) / 1_000_000_000
    }
}

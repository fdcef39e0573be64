import BridgePlatform
public import DomainEvents
import Locks

/// Faults by hand.
extension SimulationWorld {
    /// Ends the process of a worker or client now, where it stands.
    public func crash(_ name: String, _ exit: SimulatedExit = .signal(9)) {
        guard let process = living(name) else { return }
        core.wasMet("crash")
        process.end(exit, because: "is ended: \(exit)")
    }

    /// Ends the simulated process whose code calls this, at once: what `exit` and `fatalError` do in a process of its
    /// own.
    public func exitHere(_ exit: SimulatedExit) {
        let process = core.scheduler.current()?.process
        guard let found = core.processes.last(where: { $0.process === process }) else { return }
        core.wasMet("exit")
        found.end(exit, because: "ends itself: \(exit)")
        core.scheduler.yieldIfDead()
    }

    /// Ends the worker's process when a handler of its next start is called with an event of this type, in the place of
    /// that handler.
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

    /// Lets the process of a worker or client stand still for that long, as SIGSTOP does.
    public func stop(_ name: String, for duration: Duration) {
        living(name)?.standStill(for: duration.simulatedNanoseconds)
    }

    /// Lets a worker or client read no more than so many bytes a second; 0 for as many as there are.
    public func slow(_ name: String, bytesPerSecond: Int) {
        core.tell("\(name) reads \(bytesPerSecond) bytes a second")
        living(name)?.slow(to: UInt64(max(0, bytesPerSecond)))
    }

    /// Lets a worker's or client's next bytes be none that the protocol knows.
    public func breakProtocol(_ name: String) {
        guard let process = living(name) else { return }
        core.wasMet("broken protocol")
        core.tell("\(name) breaks the protocol")
        core.mayViolate.insert(name)
        process.stream?.garble()
    }

    /// Sets the clock that people read, forth or back.
    public func setWallClock(by duration: Duration) {
        let (seconds, attoseconds) = duration.components
        core.setWallClock(by: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// Lets nothing at all run for that long, as a virtual machine that is held: what becomes due meanwhile is due at
    /// once.
    public func standStill(for duration: Duration) { core.standStill(for: duration.simulatedNanoseconds) }

    private func living(_ name: String) -> SimulatedProcess? {
        core.processes.last { $0.name == name && !$0.hasEnded }
    }
}

extension Duration {
    /// In nanoseconds, 0 at least.
    var simulatedNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        return UInt64(clamping: seconds) &* 1_000_000_000 &+ UInt64(max(0, attoseconds)) / 1_000_000_000
    }
}

import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import EventRouting
import Locks
import Supervision

/// One start of a worker, from the host's side: its handshake, its link, its process, and the end of all three.
final class WorkerIncarnation: HostSession, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    let index: Int
    let number: Int
    let specification: WorkerSpecification
    let cookie: String
    let incarnation: UInt64
    let peer: Peer
    let link: Link
    let poller: Poller
    weak let host: HostCore?

    let lock = Lock()
    /// The process and what is known of it; nil before the process was spawned.
    private var started: Started?
    /// Whether everything from the link was read; handlers of what came over it may still run.
    private var isReadToEnd = false
    private var hasToldProcessEnd = false
    private var isLinkEnded = false
    private(set) var exit: ExitReason?
    /// What is known of this start's end: what requested it, or led to it.
    var end = EndRecord()
    /// Whether this start waits for the end of the process before it, and gets no events yet.
    var isSuccessor: Bool
    /// Whether the worker has finished its handshake and has said that it is ready.
    var isReady = false
    /// Whether this start gets no more events, because they are kept for the next process.
    var keepsEvents = false
    private var hasReported = false
    private var isAbandoned = false
    private var output = OutputTail()

    /// A process that runs or has ended.
    private struct Started {
        /// The process itself; nil once nothing is left to signal.
        var process: (any WorkerProcess)?
        let identifier: Int32
        /// When the process was started, on the monotonic clock, in nanoseconds.
        let began = MonotonicClock.now()
        /// The parts that the worker's box lacks on this system, a sentence for each.
        let missingFromBox: [String]
        /// What the process had used; nil before its end, and if that is not known.
        var usage: ResourceUsage?
    }

    /// - Parameter successor: the link of this start if the start is to replace a process; nil to use the peer's link.
    init(
        index: Int,
        number: Int,
        specification: WorkerSpecification,
        peer: Peer,
        succeedingOver successor: Link? = nil,
        poller: Poller,
        host: HostCore
    ) {
        self.index = index
        self.number = number
        self.specification = specification
        self.peer = peer
        self.poller = poller
        self.host = host
        cookie = String(Randomness.next(), radix: 16) + String(Randomness.next(), radix: 16)
        incarnation = Randomness.nextIncarnation()
        link = successor ?? peer.link
        isSuccessor = successor != nil
    }

    /// Notes the process, which can be signalled from now on.
    ///
    /// - Returns: False if this start was abandoned before its process was there: then the process is killed.
    func spawned(_ worker: LaunchedWorker) -> Bool {
        let process = worker.process
        let made = Started(
            process: process,
            identifier: process.processIdentifier,
            missingFromBox: worker.missingFromBox
        )
        let isLate = lock.withLock {
            if !isAbandoned { started = made }
            return isAbandoned
        }
        if isLate { process.signal(.kill) }
        return !isLate
    }

    /// Begins to read the link and to watch the process; called after ``spawned(_:)``.
    ///
    /// If the system lacks a thread or a watch for that, the process is killed, and the failure is reported as its end
    /// when nothing is left of the process.
    func begin(_ launched: LaunchedWorker) {
        do throws(SystemError) {
            try link.start(over: launched.stream, control: self, recoversOutbox: true)
        } catch {
            let reason = ExitReason.spawnFailed("its link cannot be read: \(error)", errno: error.code)
            return launched.process.forceEnd { [self] in endedWithoutLink(reason) }
        }
        do {
            try launched.process.onExit { [self] reason in processExited(reason) }
        } catch {
            let code = (error as? SystemError)?.code
            let reason = ExitReason.spawnFailed("its process cannot be watched: \(error)", errno: code)
            lock.withLock { end.signalWasSent() }
            launched.process.forceEnd { [self] in processExited(reason) }
        }
    }

    /// Reports the end of a process whose link was never read: it was not welcomed, so it has published nothing.
    private func endedWithoutLink(_ reason: ExitReason) {
        let usage = lock.withLock { started?.process }?.usage
        lock.withLock {
            exit = reason
            hasReported = true
            started?.usage = usage
            // There is no process left to signal.
            started?.process = nil
        }
        host?.outboxes.remove(incarnation)
        host?.usages.add(usage, index: index, start: number)
        supervisor?.childExited(index: index, start: number, reason: reason)
    }

    /// The host's supervisor, which learns what happens to this start.
    var supervisor: Supervisor? { host?.supervisor }

    /// Whether a debugger holds the process.
    var isBeingDebugged: Bool { lock.withLock { started?.process }?.isBeingDebugged ?? false }

    /// The number of the process, even after it has ended; nil before it was spawned.
    var pid: Int32? { lock.withLock { started?.identifier } }

    var missingFromBox: [String] { lock.withLock { started?.missingFromBox ?? [] } }

    /// How long ago the process was started, in nanoseconds; nil if none was.
    var age: UInt64? { lock.withLock { started?.began }.map { MonotonicClock.now() - $0 } }

    /// How the process has ended, and what it had used; nil before its end, and without a process.
    var ending: (exit: ExitReason?, usage: ResourceUsage?) { lock.withLock { (exit, started?.usage) } }

    /// The last lines that the worker has printed, with breaks between them; nil if there are none.
    var lastOutput: String? { lock.withLock { output.text } }

    func printed(_ line: LinePipe.Line) { lock.withLock { output.add(line) } }

    /// What the worker has left in its shared outbox; nil before its end, and if it shared none or nothing was read.
    var recoveredOutbox: RecoveredOutbox? { link.recoveredOutbox }

    /// Signals a process that the host ends; the events that it has not got by now wait for the next start.
    func signal(_ signal: ChildSignal) {
        _ = keepEvents()
        let process = lock.withLock {
            end.signalWasSent()
            return started?.process
        }
        process?.signal(signal)
    }

    /// Sends a signal that a caller has requested; the supervisor knows nothing of it.
    ///
    /// - Returns: The process that the signal went to; nil if there is none any more.
    func signal(_ signal: SignalNumber) -> Int32? {
        let process = lock.withLock {
            // Noted before the signal is sent: the process may be gone as soon as it has the signal.
            if started?.process != nil { end.signalWasSent(byRequest: signal) }
            return started?.process
        }
        guard let process, process.signal(signal) else { return nil }
        return process.processIdentifier
    }

    func drain(grace: Duration) {
        lock.withLock { end.endWasRequested() }
        // Events that the worker has not got by now wait for its next start, as first deliveries.
        _ = keepEvents()
        link.send(.drain(graceMilliseconds: UntrustedNumber(grace.milliseconds)))
    }

    // MARK: - The end

    func linkWasReadToEnd(_ link: Link, _ end: LinkEnd) {
        lock.withLock {
            // The process may have ended because of this breach, and its end may be known already.
            if case .violation(let text) = end { _ = breachWasFound(text) }
            isReadToEnd = true
        }
        tellProcessEnd()
        switch end {
        case .orderly(let goodbye) where goodbye.isOrderly: break
        case .orderly(let goodbye): watchExit("it broke off (\(goodbye.text.shortened())) and lives on")
        case .violation(let text): violated(text)
        case .failed(let text): watchExit(text)
        case .endOfStream, .closed: watchExit("it closed its link without a goodbye and lives on")
        }
    }

    func linkEnded(_ link: Link, _ end: LinkEnd) {
        // The peer comes first: new events then go to the next incarnation, behind the events that this incarnation has
        // left. The flag comes last: once it is set, another thread may report the end. The next start then takes the
        // peer's link, which must not be the ended link.
        peer.renew(after: link)
        peer.forgetSuccessor(link)
        // If this host has closed the link, it may not have read the whole outbox: the next host reads the file.
        if !link.wasClosedHere { host?.outboxes.remove(incarnation) }
        lock.withLock { isLinkEnded = true }
        reportEnd()
    }

    /// Whether the process is known to have ended.
    var hasExited: Bool { lock.withLock { exit != nil } }

    /// Whether the host ends the process, or is about to.
    var isBeingEnded: Bool { lock.withLock { end.isEndedByHost || end.fault != nil } }

    /// The worker has broken the protocol, and the host ends it: an event that it was handling may be the cause.
    func violated(_ text: String) {
        let reason = lock.withLock { breachWasFound(text) }
        peer.countViolation()
        supervisor?.childViolated(index: index, start: number, reason: reason)
    }

    /// Notes a breach of the protocol; called with the lock held, perhaps more than once for the same breach.
    private func breachWasFound(_ text: String) -> ExitReason {
        let reason = ExitReason.protocolViolation(text)
        _ = end.faultWasFound(EndRecord.Fault(reason: reason))
        return reason
    }

    private func processExited(_ reason: ExitReason) {
        let usage = lock.withLock { started?.process }?.usage
        lock.withLock {
            exit = end.explanation(of: reason, in: specification.box, usage)
            started?.usage = usage
        }
        tellProcessEnd()
        // What the worker wrote is still read to the end; another process that holds the socket cannot delay that.
        link.peerIsGone()
        reportEnd()
    }

    /// Reports the end of the process once the end is known and the link is read to its end.
    ///
    /// The supervisor thus learns first what the process has sent, such as its readiness. If a fault was found, the
    /// fault is the reason.
    private func tellProcessEnd() {
        let ended: ExitReason? = lock.withLock {
            guard isReadToEnd, let exit, !hasToldProcessEnd else { return nil }
            hasToldProcessEnd = true
            return end.fault?.reason ?? exit
        }
        if let ended { supervisor?.childProcessEnded(index: index, start: number, reason: ended) }
    }

    private func reportEnd() {
        let ended: (exit: ExitReason, record: EndRecord, hadEvents: Bool)? = lock.withLock {
            guard isLinkEnded, let exit, !hasReported else { return nil }
            hasReported = true
            // There is no process left to signal.
            started?.process = nil
            return (exit, end, !isSuccessor)
        }
        guard let ended, let host else { return }
        let verdict: CrashLedger.Verdict
        let damage = damageLeft()
        let reason = ended.record.fault?.reason ?? damage ?? ended.exit
        if !ended.hadEvents {
            // This start was never the peer's present start, so its end says nothing about the peer.
            verdict = .worker
        } else if ended.record.isCrash, !reason.isWrongConfiguration {
            verdict = host.router.workerCrashed(
                peer,
                over: link,
                because: reason.description,
                suspects: ended.record.fault?.suspects
            )
        } else {
            peer.incarnationEnded(link)
            verdict = .worker
        }
        if let loss = link.loss {
            host.reports.publish(EventsLost(worker: specification.name, incarnation: incarnation, loss))
        }
        // This comes first, as the supervisor's report of the end contains the usage.
        host.usages.add(ending.usage, index: index, start: number)
        host.supervisor?.childExited(
            index: index,
            start: number,
            reason: reason,
            isOrderly: ended.record.hasSaidGoodbye,
            blame: ExitBlame(verdict, last: reason)
        )
    }

    /// What is wrong with the outbox that the worker has left; nil if nothing is wrong.
    ///
    /// Damage counts as if the live worker had broken the protocol: only its code can do damage. A kill does none: the
    /// event that a killed worker was just writing is torn, but it was not accepted yet, and does not count as damage.
    private func damageLeft() -> ExitReason? {
        guard let damage = link.recoveredOutbox?.damage else { return nil }
        peer.countViolation()
        return .protocolViolation("its outbox is damaged: \(damage)")
    }

    /// Kills the process, also one that is just being started, and closes the link, without a goodbye.
    func abandon() {
        let process = lock.withLock {
            isAbandoned = true
            end.signalWasSent()
            // This object lets go of the process object: if that was the last reference, `AbandonedChildren` waits for
            // the process's end, however long this object lives.
            return started?.process.take()
        }
        process?.signal(.kill)
        link.close()
    }
}

extension ExitBlame {
    fileprivate init(_ verdict: CrashLedger.Verdict, last reason: ExitReason) {
        self =
            switch verdict {
            case .worker: .child
            case .strike, .deadLetter: .elsewhere
            case .broken:
                .beyondHelp(
                    """
                    \(CrashLedger.deadLettersInARow) events in a row were put aside because it crashed over them, \
                    and it handled none between; last: \(reason)
                    """
                )
            }
    }
}

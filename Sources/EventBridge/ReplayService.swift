import BridgeControl
import BridgeProtocol
import DomainEvents
import EventRouting
import Locks

/// Sends to a worker again the events that a client has read in a journal.
///
/// The service carries out one command at a time for each worker, and a command has few events. So a live event waits
/// behind one command's events at most, and few events wait for room in an outbox. A task carries out the command. If a
/// client's replay goes on after a command, the client holds the worker, so that the events of two replays do not mix.
final class ReplayService: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let core: HostCore
    private let lock = Lock()
    /// The workers for which a command is carried out.
    private var busy: Set<String> = []
    /// The last command of each client whose replay to a worker goes on, by the name of the worker.
    private var holders: [String: EventID] = [:]

    init(_ core: HostCore) {
        self.core = core
    }

    /// Takes commands until the subscription ends.
    func open() -> Subscription {
        core.publisher.subscribe(to: EventsReplayRequested.self) { [weak self] in self?.take($0) }
    }

    private func take(_ command: EventsReplayRequested) {
        let context = EventContext.current
        let checked: ReplayBatch
        do throws(ReplayBatch.Mistake) {
            checked = try batch(of: command, context)
        } catch {
            giveUp(command.worker, heldBy: context?.id)
            return answer(ReplayOutcome(.refused, refusal: error.sentence), to: context)
        }
        guard begin(checked) else { return answer(ReplayOutcome(.busy), to: context) }
        Task(executorPreference: Simulation.taskExecutor) { [self] in
            let outcome = await carryOut(checked)
            end(checked, isRefused: outcome.kind != .done)
            answer(outcome, to: context)
        }
    }

    /// Begins a command; false if a command for the worker is under way, or another client's replay goes on.
    private func begin(_ batch: ReplayBatch) -> Bool {
        let worker = batch.peer.peerName
        let holder = lock.withLock { holders[worker] }
        // A client that has gone holds nothing.
        let isFree = holder.map { $0.source == batch.requester?.source || !core.router.isPresent($0) } ?? true
        return lock.withLock {
            // While the lock was free, another client may have begun.
            guard isFree, holders[worker] == holder, busy.insert(worker).inserted else { return false }
            holders[worker] = batch.hasMore ? batch.requester : nil
            return true
        }
    }

    /// Ends the hold of a client whose command is wrong; another client's hold goes on.
    private func giveUp(_ worker: String, heldBy requester: EventID?) {
        lock.withLock { if holders[worker]?.source == requester?.source { holders[worker] = nil } }
    }

    private func end(_ batch: ReplayBatch, isRefused: Bool) {
        let worker = batch.peer.peerName
        lock.withLock {
            busy.remove(worker)
            if isRefused { holders[worker] = nil }
        }
    }

    private func batch(
        of command: EventsReplayRequested,
        _ context: EventContext?
    ) throws(ReplayBatch.Mistake) -> ReplayBatch {
        let name = "worker \"\(command.worker.shortened(toScalars: 64))\""
        guard context?.attempt ?? 1 == 1 else {
            // The link had ended before the sender knew that the command had arrived.
            throw ReplayBatch.Mistake(
                "the link broke off while the command was on its way, so \(name) may have got the events already"
            )
        }
        guard core.supervisor?.isRunning == true, !core.router.hasClosedIntake else {
            throw ReplayBatch.Mistake("\(name) gets no events again: the host is starting or stopping")
        }
        guard let index = core.indices(of: command.worker).first else {
            throw ReplayBatch.Mistake("there is no \(name)")
        }
        let peer = core.worker(index).peer
        guard peer.peerName == command.worker else {
            throw ReplayBatch.Mistake("\"\(command.worker)\" is a pool, and events are replayed to one of its members")
        }
        return try ReplayBatch(command, to: peer, at: index, for: context?.id)
    }

    // MARK: - One command

    private func carryOut(_ batch: ReplayBatch) async -> ReplayOutcome {
        let (settled, settling) = AsyncStream.makeStream(of: (index: Int, outcome: ReplayedEventOutcome).self)
        var results: [ReplayOutcome.Result?] = []
        // The indices of the events that the outbox has taken and whose outcome is not known yet.
        var open: Set<Int> = []
        var refusal: String?
        events: for event in batch.events {
            guard isAwaited(batch) else {
                refusal = "the client that asked for the replay is gone"
                break
            }
            let index = results.count
            switch await wish(for: event.name, of: batch) {
            case .unwanted: results.append(ReplayOutcome.Result(.unwanted))
            case .unavailable(let reason):
                refusal = reason
                break events
            case .wanted:
                do throws(DeliveryError) {
                    try await core.router.replay(
                        event.context,
                        name: event.name,
                        payload: event.payload,
                        to: batch.peer
                    ) { [self] outcome in
                        settling.yield((index, outcome))
                        return isAwaited(batch)
                    }
                    results.append(nil)
                    open.insert(index)
                } catch {
                    refusal = error.description
                    break events
                }
            }
        }
        var outcomes = settled.makeAsyncIterator()
        while !open.isEmpty, let (index, outcome) = await outcomes.next() {
            if open.remove(index) != nil { results[index] = ReplayOutcome.Result(outcome) }
        }
        return ReplayOutcome(
            refusal == nil ? .done : .refused,
            results: results.map { $0 ?? ReplayOutcome.Result(.unavailable) },
            refusal: refusal?.shortened()
        )
    }

    /// Whether the client that has sent a command is still there to hear the answer.
    private func isAwaited(_ batch: ReplayBatch) -> Bool {
        batch.requester.map { core.router.isPresent($0) } ?? true
    }

    /// Whether a worker wants the events of a name.
    private enum Wish {
        case wanted
        case unwanted
        case unavailable(String)
    }

    /// Waits until the worker has said what it wants, which a process that is starting has not done yet.
    private func wish(for name: String, of batch: ReplayBatch) async -> Wish {
        if let wish = wishNow(for: name, of: batch) { return wish }
        for await _ in WorkerStatusUpdates(board: core.statusBoard) {
            if let wish = wishNow(for: name, of: batch) { return wish }
        }
        return .unavailable("the host has stopped all workers")
    }

    private func wishNow(for name: String, of batch: ReplayBatch) -> Wish? {
        let worker = "worker \"\(batch.peer.peerName)\""
        if let reason = batch.peer.closedReason { return .unavailable("\(worker) takes no events: \(reason)") }
        let before = core.status(at: batch.index)
        if core.router.isWanted(name, by: batch.peer) { return .wanted }
        guard let before, let now = core.status(at: batch.index) else {
            return .unavailable("there is no \(worker) any more")
        }
        switch now.state {
        // If the worker was ready before and has not restarted since, its process had said what it wants.
        case .ready: return before.state == .ready && before.starts == now.starts ? .unwanted : nil
        // Only an event that its specification subscribes to starts the worker, and this event is not one.
        case .dormant: return .unwanted
        case .stopped, .gaveUp: return .unavailable("\(worker) takes no events: it \(now.state.predicate)")
        case .notStarted, .starting, .draining, .stopping, .backingOff: return nil
        }
    }

    private func answer(_ outcome: ReplayOutcome, to context: EventContext?) {
        let answer = EventsReplayed(outcome)
        guard let context else { return core.publisher.publish(answer) }
        core.publisher.publish(answer, causedBy: context)
    }
}

extension ReplayOutcome.Result {
    fileprivate init(_ outcome: ReplayedEventOutcome) {
        switch outcome {
        case .handled: self.init(.handled, reason: nil)
        case .refused(let reason): self.init(.refused, reason: reason.shortened())
        case .unavailable(let reason): self.init(.unavailable, reason: reason.shortened())
        }
    }
}

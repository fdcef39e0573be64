import DomainEvents
import EventRouting
import Locks
import Supervision

/// Turns the present workers into the wanted ones: see ``BridgeHost/apply(_:finishingWithin:)``.
extension HostCore {
    /// The workers that were not removed, a pool's members together.
    var presentWorkers: [WorkerChanges.Present] {
        var names: [String] = []
        var members: [String: [WorkerSpecification]] = [:]
        for worker in lock.withLock({ workers.filter { !$0.isRemoved } }) {
            let name = worker.peer.pool?.name ?? worker.peer.peerName
            if members[name] == nil { names.append(name) }
            members[name, default: []].append(worker.specification)
        }
        return names.map { WorkerChanges.Present(name: $0, pool: pool(named: $0), members: members[$0] ?? []) }
    }

    /// Makes the changes and returns what was done; the callers take turns, see ``ChangeTurns``.
    func apply(_ changes: WorkerChanges, finishingWithin limit: Duration) async -> AppliedChanges {
        var applied = AppliedChanges(unchanged: changes.unchanged)
        let gone = changes.removed.flatMap(indices(of:))
        let new = append(changes.added)
        supervisor?.childrenAdded(new.map { specification($0).child })
        for index in gone { supervisor?.removalPlanned(index: index) }
        router.exchange(adding: new.map { worker($0).peer }, leaving: gone.map { worker($0).peer })

        await remove(gone, finishingWithin: limit)
        applied.stopped = changes.removed
        applied.started = changes.added.map(\.name)
        applied.failures += await startAdded(new)
        for worker in changes.changed {
            let failures = await replaceMembers(of: worker, handingOverWithin: limit)
            if failures.isEmpty { applied.replaced.append(worker.name) }
            applied.failures += failures
        }
        await reports.passed()
        return applied
    }

    // MARK: - Workers that are gone

    private func remove(_ gone: [Int], finishingWithin limit: Duration) async {
        // A publisher that was held up may still give an event to all of them, as long as one of them has the event.
        await settle(gone.map { worker($0).peer }, within: limit)
        await withTaskGroup { group in
            for index in gone {
                group.addTask {
                    self.router.forgetInterest(of: self.worker(index).peer)
                    await self.removeChild(index)
                }
            }
        }
    }

    // MARK: - New workers

    /// Starts the new workers; returns when each is ready, is on demand, or has failed for the first time.
    private func startAdded(_ new: Range<Int>) async -> [AppliedChanges.Failure] {
        for index in new { supervisor?.startChildRequested(index: index) }
        let names = new.map { worker($0).peer.peerName }
        guard !names.isEmpty else { return [] }
        var last: WorkerStatusUpdate?
        // The updates end with the bridge, so the loop ends then at the latest.
        for await update in WorkerStatusUpdates(board: statusBoard) {
            last = update
            if names.allSatisfy({ hasSettled($0, in: update) }) { break }
        }
        return names.compactMap { name in last.flatMap { failure(of: name, in: $0) } }
    }

    private func hasSettled(_ name: String, in update: WorkerStatusUpdate) -> Bool {
        guard let status = update[name] else { return true }
        switch status.state {
        case .ready, .dormant, .stopped, .gaveUp: return true
        case .notStarted, .starting, .draining, .stopping, .backingOff:
            return !status.deaths.isEmpty || culprit(before: name, in: update) != nil
        }
    }

    /// The worker that is down and so holds up the named worker's start in sequence; nil if there is none.
    private func culprit(before name: String, in update: WorkerStatusUpdate) -> String? {
        guard rules.startOrder == .inSequence, update[name]?.state == .starting, update[name]?.starts == 0 else {
            return nil
        }
        let before = update.workers.prefix { $0.name != name }
        return before.first { if case .backingOff = $0.state { true } else { false } }?.name
    }

    private func failure(of name: String, in update: WorkerStatusUpdate) -> AppliedChanges.Failure? {
        guard let status = update[name] else { return nil }
        let why: String
        switch status.state {
        case .ready, .dormant: return nil
        case .stopped: why = "it \((status.lastExit ?? .requested).predicate) before it was ready"
        case .gaveUp: why = "it \(status.state.predicate)"
        case .notStarted, .starting, .draining, .stopping, .backingOff:
            if let culprit = culprit(before: name, in: update) {
                why = "it waits for \"\(culprit)\", which is down"
            } else if let exit = status.lastExit {
                why = "it \(exit.predicate); it is started again"
            } else {
                let isEnding = status.state == .draining || status.state == .stopping
                why = isEnding ? "it is being stopped" : "it is still starting"
            }
        }
        return AppliedChanges.Failure(worker: name, description: "worker \"\(name)\" did not become ready: \(why)")
    }

    // MARK: - Changed workers

    private func replaceMembers(
        of worker: WorkerSpecification,
        handingOverWithin limit: Duration
    ) async -> [AppliedChanges.Failure] {
        var failures: [AppliedChanges.Failure] = []
        for (index, member) in zip(indices(of: worker.name), worker.members)
        where !member.isSpelled(like: specification(index)) {
            let outcome = await replace(index, with: member, handingOverWithin: limit)
            if case .failed(let why) = outcome {
                let error = BridgeError.notReplaced(member.name, why)
                failures.append(AppliedChanges.Failure(worker: member.name, description: error.description))
            } else if case .exchanged = outcome, supervisor?.isGivenUp(index: index) == true {
                // The new specification may mend the fault for which the worker was given up.
                restart(index)
            }
        }
        return failures
    }
}

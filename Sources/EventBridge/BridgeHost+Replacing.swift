import DomainEvents
import EventRouting
import Locks
import Supervision

/// Replacing a worker's process, and its program, while events flow.
extension BridgeHost {
    /// Starts a worker's program beside its present process, lets the present process finish what it has, and hands
    /// over to the new process.
    ///
    /// ```swift
    /// // A newer version of the program lies at the same path.
    /// try await bridge.replace("provisioning")
    /// ```
    ///
    /// The present process works until the new process has finished its handshake and is ready. If the new process does
    /// not become ready, the host ends it, and nothing else changes. Once the new process is ready, the host keeps
    /// events for the worker in order, as for a worker that is down. The present process is asked to finish what it
    /// has, and ends; then the new process gets the kept events. No event is lost, overtaken or handled twice, unless
    /// the present process crashes or does not finish within `limit`. In that case the events that it had not
    /// acknowledged come again, with a higher attempt.
    ///
    /// A worker that is down or going down is not started by this call: its next start uses the new specification, and
    /// gets all events from now on. A pool's members are replaced one after the other. Cancelling the task gives up a
    /// replacement that has not begun to hand over. A replacement that has begun goes on, and this call returns when it
    /// is through.
    ///
    /// - Parameters:
    ///   - worker: the name of a worker, of a pool, or of one of its members.
    ///   - specification: what the worker runs by from now on; nil to keep its specification, for a program that has
    ///     changed on disk. The name, the pool, ``WorkerLimits`` except the deadline of handlers, `isSignificant` and
    ///     `onDemand` cannot change. If `worker` names one member of a pool, `subscribes` cannot change either, except
    ///     to what another member subscribes to.
    ///   - limit: how long the present process may take to finish what it has, before it is ended by signals.
    /// - Throws: ``BridgeError``. `invalidSpecification` if the worker does not exist or the specification has
    ///   mistakes: then nothing was started. Otherwise `notReplaced`, with the reason. If the error names a member of a
    ///   pool, the members before it have been replaced.
    public func replace(
        _ worker: String,
        with specification: WorkerSpecification? = nil,
        handingOverWithin limit: Duration = .seconds(30)
    ) async throws(BridgeError) {
        let members = try replacements(of: worker, with: specification, handingOverWithin: limit)
        for (index, member) in members {
            // The specification is read only now: another call may have changed it while the members before this worker
            // were replaced.
            let wanted = specification == nil ? core.specification(index) : member
            let outcome = await core.replace(index, with: wanted, handingOverWithin: limit)
            guard case .failed(let why) = outcome else { continue }
            throw BridgeError.notReplaced(member.name, why)
        }
    }

    /// The workers to replace, and the new specification of each.
    private func replacements(
        of worker: String,
        with specification: WorkerSpecification?,
        handingOverWithin limit: Duration
    ) throws(BridgeError) -> [(index: Int, specification: WorkerSpecification)] {
        let indices = core.indices(of: worker)
        var mistakes = limit.mistakes(as: "the time to hand over within")
        if indices.isEmpty { mistakes.append("there is no worker \"\(worker)\"") }
        if let specification, let index = indices.first {
            mistakes += WorkerSpecification.validate(
                [specification],
                automaticShutdown: specification.child.isSignificant ? .anySignificant : .never
            )
            mistakes += specification.changesOfWhatStays(
                from: core.specification(index),
                name: worker,
                pool: core.pool(named: worker),
                otherMembers: core.otherMembers(of: worker)
            ).map { "worker \"\(worker)\": \($0)" }
        }
        guard mistakes.isEmpty else {
            throw BridgeError(.invalidSpecification, mistakes.joined(separator: "\n"), worker: worker)
        }
        let members = specification?.members ?? indices.map { core.specification($0) }
        return Array(zip(indices, members))
    }
}

extension WorkerSpecification {
    /// What differs between two specifications of a worker and cannot change while the bridge runs, a phrase for each
    /// difference.
    ///
    /// - Parameters:
    ///   - present: the specification of the worker, or of a member of its pool.
    ///   - pool: the pool of this name; nil if there is none.
    ///   - others: if the name is that of a single member of a pool, the specifications of the pool's other members.
    func changesOfWhatStays(
        from present: WorkerSpecification,
        name: String,
        pool: WorkerPool?,
        otherMembers others: [WorkerSpecification] = []
    ) -> [String] {
        var changes: [String] = []
        if self.name != name { changes.append("it cannot be replaced by one of another name, \"\(self.name)\"") }
        if self.pool?.shape != pool?.shape { changes.append("its pool cannot change while the bridge runs") }
        var limits = limits
        limits.handlerDeadline = present.limits.handlerDeadline
        if limits != present.limits {
            changes.append("its limits, but for the deadline of handlers, cannot change while the bridge runs")
        }
        if child.isSignificant != present.child.isSignificant {
            changes.append("whether it is significant cannot change while the bridge runs")
        }
        if child.onDemand != present.child.onDemand {
            changes.append("whether and how it runs on demand cannot change while the bridge runs")
        }
        // After a failed reload the members may subscribe to different events: one may then be made like another.
        if !others.isEmpty, !([present] + others).contains(where: { $0.subscribesAlike(self) }) {
            changes.append(
                "it is one member of a pool, so the events that it subscribes to can change only with the whole pool"
            )
        }
        return changes
    }
}

extension WorkerSpecification {
    /// Whether both subscribe to the same events.
    fileprivate func subscribesAlike(_ other: WorkerSpecification) -> Bool {
        EventName.set(subscribes) == EventName.set(other.subscribes)
    }
}

extension HostCore {
    /// The specifications of the other members, if this is the name of a single member of a pool; otherwise empty.
    fileprivate func otherMembers(of worker: String) -> [WorkerSpecification] {
        let present = lock.withLock { workers.filter { !$0.isRemoved } }
        guard let member = present.first(where: { $0.peer.peerName == worker }), let pool = member.peer.pool else {
            return []
        }
        return present.filter { $0.peer.pool === pool && $0.peer !== member.peer }.map(\.specification)
    }
}

extension WorkerPool {
    /// Pools of equal shape send each event to the same member; functions count as equal, as they cannot be compared.
    fileprivate var shape: Shape { Shape(members: members, keys: keys.mapValues(\.shape)) }

    fileprivate struct Shape: Equatable {
        let members: Int
        let keys: [String: String]
    }
}

extension PoolKey {
    fileprivate var shape: String {
        switch kind {
        case .field(let name): "field \(name)"
        case .found: "function"
        case .anyMember: "any"
        case .everyMember: "every"
        }
    }
}

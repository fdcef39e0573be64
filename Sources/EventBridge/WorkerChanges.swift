import Supervision

/// Compares a bridge's workers, by name and before any change, with the workers that it is to have.
struct WorkerChanges: Sendable {
    /// A worker that the bridge has, or a pool.
    struct Present: Sendable {
        let name: String
        let pool: WorkerPool?
        /// The specification of each of its processes.
        let members: [WorkerSpecification]
    }

    private(set) var added: [WorkerSpecification] = []
    private(set) var removed: [String] = []
    private(set) var changed: [WorkerSpecification] = []
    private(set) var unchanged: [String] = []
    /// The reasons why the changes cannot be made, a sentence for each; one mistake forbids all changes.
    private(set) var mistakes: [String]

    init(from present: [Present], to wanted: [WorkerSpecification], automaticShutdown: AutomaticShutdown) {
        mistakes = WorkerSpecification.validate(wanted, automaticShutdown: automaticShutdown)
        var known: [String: Present] = [:]
        for worker in present { known[worker.name] = worker }
        for worker in wanted {
            if let before = known.removeValue(forKey: worker.name) {
                compare(worker, with: before)
            } else {
                added.append(worker)
            }
        }
        removed = present.map(\.name).filter { known[$0] != nil }
        findNamesInUse(by: present)
    }

    private mutating func compare(_ worker: WorkerSpecification, with before: Present) {
        guard let member = before.members.first else { return }
        let changes = worker.changesOfWhatStays(from: member, name: before.name, pool: before.pool)
        mistakes += changes.map { "worker \"\(worker.name)\": \($0)" }
        guard changes.isEmpty else { return }
        let isSame = worker.members.elementsEqual(before.members) { $0.isSpelled(like: $1) }
        if isSame { unchanged.append(worker.name) } else { changed.append(worker) }
    }

    /// A new process must not have the name of a process that has not ended yet: the processes could be confused.
    private mutating func findNamesInUse(by present: [Present]) {
        guard mistakes.isEmpty else { return }
        for worker in added {
            for member in worker.members {
                let owner = present.first { $0.members.contains { $0.name == member.name } }
                guard let owner else { continue }
                mistakes.append(
                    """
                    worker "\(worker.name)": \(owner.pool == nil ? "the worker" : "a member of the pool") "\(owner.name)" has the name \
                    "\(member.name)" until it is gone; remove it first
                    """
                )
            }
        }
    }
}

import Supervision
import Testing

@testable import EventBridge

/// The changes that are found between two lists of workers.
@Suite("The changes from some workers to others")
struct WorkerChangesTests {
    private func worker(_ name: String, _ argument: String = "", pool: WorkerPool? = nil) -> WorkerSpecification {
        WorkerSpecification(
            child: ChildSpecification(name, executable: .beside("worker"), arguments: [argument]),
            subscribes: ["E"],
            pool: pool
        )
    }

    private func changes(
        _ present: [WorkerSpecification],
        _ wanted: [WorkerSpecification],
        automaticShutdown: AutomaticShutdown = .never
    ) -> WorkerChanges {
        WorkerChanges(
            from: present.map { .init(name: $0.name, pool: $0.pool, members: $0.members) },
            to: wanted,
            automaticShutdown: automaticShutdown
        )
    }

    @Test("are those that are new, gone, other or the same, by name, in the order of the lists")
    func sorted() {
        let found = changes(
            [worker("gone"), worker("same"), worker("other"), worker("last")],
            [worker("new"), worker("other", "x"), worker("same"), worker("newer")]
        )
        #expect(found.mistakes.isEmpty)
        #expect(found.added.map(\.name) == ["new", "newer"])
        #expect(found.removed == ["gone", "last"])
        #expect(found.changed.map(\.name) == ["other"])
        #expect(found.unchanged == ["same"])
    }

    @Test("of a pool count if one member goes by something else")
    func pool() {
        let pool = WorkerPool(2)
        let members = worker("p", pool: pool).members
        let half = [members[0], worker("p", "x", pool: pool).members[1]]
        let found = WorkerChanges(
            from: [.init(name: "p", pool: pool, members: half)],
            to: [worker("p", pool: pool)],
            automaticShutdown: .never
        )
        #expect(found.changed.map(\.name) == ["p"])
        #expect(changes([worker("p", pool: pool)], [worker("p", pool: pool)]).unchanged == ["p"])
    }

    @Test("count a text as changed that has other bytes, though Swift takes it for the same")
    func otherBytes() {
        let changes: [(inout WorkerSpecification, String) -> Void] = [
            { $0.child.executable = .path($1) }, { $0.child.workingDirectory = $1 }, { $0.child.arguments = [$1] },
            { $0.child.environment = ["A": "a", $1: ""] }, { $0.child.environment = ["A": $1] },
            { $0.subscribes = [$1] }, { $0.publishes = [$1] }, { $0.box = WorkerBox(files: .init(readOnly: [$1])) },
            { $0.box = WorkerBox(files: .init(writable: [$1])) },
        ]
        for change in changes {
            var workers = [worker("a"), worker("a"), worker("a")]
            for (index, text) in ["caf\u{E9}", "cafe\u{301}", "caf\u{E9}"].enumerated() {
                change(&workers[index], text)
            }
            #expect(workers[0] == workers[1])
            #expect(self.changes([workers[0]], [workers[1]]).changed.map(\.name) == ["a"], "\(workers[0])")
            #expect(self.changes([workers[0]], [workers[2]]).unchanged == ["a"], "\(workers[0])")
        }
    }

    @Test("that are not possible while the bridge runs are named")
    func impossible() {
        var significant = worker("a")
        significant.child.isSignificant = true
        significant.child.restart = .transient
        var onDemand = worker("b")
        onDemand.child.onDemand = OnDemand()
        let found = changes(
            [worker("a"), worker("b"), worker("c", pool: WorkerPool(2)), worker("d")],
            [significant, onDemand, worker("c", pool: WorkerPool(3)), worker("d", pool: WorkerPool(1))],
            automaticShutdown: .anySignificant
        )
        #expect(
            found.mistakes == [
                "worker \"a\": whether it is significant cannot change while the bridge runs",
                "worker \"b\": whether and how it runs on demand cannot change while the bridge runs",
                "worker \"c\": its pool cannot change while the bridge runs",
                "worker \"d\": its pool cannot change while the bridge runs",
            ]
        )
    }

    @Test("leave a single member of a pool only events to which a member subscribes already")
    func singleMember() {
        func member(_ name: String, _ events: String...) -> WorkerSpecification {
            var member = worker(name)
            member.subscribes = events
            return member
        }
        func changes(_ wanted: WorkerSpecification, others: [WorkerSpecification]) -> [String] {
            wanted.changesOfWhatStays(from: member("p.2", "A", "M"), name: "p.2", pool: nil, otherMembers: others)
        }
        let why = "it is one member of a pool, so the events that it subscribes to can change only with the whole pool"
        let alike = [member("p.1", "A", "M"), member("p.3", "A", "M")]
        #expect(changes(member("p.2", "M", "A"), others: alike) == [])
        #expect(changes(member("p.2", "A"), others: alike) == [why])
        #expect(changes(member("p.2", "A", "N"), others: alike) == [why])
        // A reload has replaced the others, and failed at this member.
        #expect(changes(member("p.2", "A", "N"), others: [member("p.1", "A", "N"), member("p.3", "A", "N")]) == [])
        // Without other members it is the whole pool.
        #expect(changes(member("p.2", "A"), others: []) == [])
    }

    @Test("must not bring names that present workers have, each of which is named")
    func namesInUse() {
        let found = changes(
            [worker("p", pool: WorkerPool(2)), worker("q.1")],
            [worker("p.1"), worker("p.2"), worker("q", pool: WorkerPool(1))]
        )
        #expect(
            found.mistakes == [
                "worker \"p.1\": a member of the pool \"p\" has the name \"p.1\" until it is gone; remove it first",
                "worker \"p.2\": a member of the pool \"p\" has the name \"p.2\" until it is gone; remove it first",
                "worker \"q\": the worker \"q.1\" has the name \"q.1\" until it is gone; remove it first",
            ]
        )
    }

    @Test("have to fit the automatic shutdown of the bridge")
    func automaticShutdown() {
        var leader = worker("leader")
        leader.child.isSignificant = true
        leader.child.restart = .transient
        let found = changes([leader, worker("a")], [worker("a")], automaticShutdown: .anySignificant)
        #expect(found.mistakes.count == 1)
        #expect(found.mistakes.first?.contains("no child is significant") == true)
    }
}

import BridgePlatform
import DomainEvents
import EventBridge
import ExampleDomain
import FoundationEssentials
import Locks
import Supervision
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("What workers do with processes, and what becomes of it", .serialized, .timeLimit(.minutes(5)))
struct ProcessRowTests {
    private let publisher = EventPublisher()

    private func pid(of bridge: BridgeHost) throws -> Int32 {
        try #require(bridge.status.first?.pid)
    }

    /// The number that a worker's line ends with.
    private func number(in lines: [WorkerOutput], behind word: String) -> Int32? {
        lines.first { $0.line.hasPrefix(word) }?.line.split(separator: " ").last.flatMap { Int32($0) }
    }

    @Test(
        "A15: a grandchild that holds the output, or the link too, delays no report of the worker's death, and goes with it",
        arguments: ["grandchild", "leak-descriptor"]
    )
    func grandchildHoldsOn(misbehaviour: String) async throws {
        let reports = WorkerReports(publisher)
        let lines = Collected<WorkerOutput>()
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty(misbehaviour, subscribes: [WorkRequested.self])],
            output: { lines.add($0) }
        )
        try await bridge.start()
        let grandchild = try #require(number(in: await lines.wait { !$0.isEmpty }, behind: "grandchild"))
        #expect(ProcessSignal.isAlive(grandchild))
        #expect(ProcessSignal.kill(try pid(of: bridge)))
        await reports.ready.wait { $0.count == 2 }
        #expect(reports.exits.all.map(\.reason) == ["killed by SIGKILL (9)"])
        while ProcessSignal.isRunning(grandchild) { await Task.yield() }
        publisher.publish(WorkRequested(number: 1, text: ""))
        await reports.done.wait { $0.count == 1 }
        await bridge.shutdown()
        reports.end()
    }

    @Test("A16: what has left the worker's group is named when the worker has ended, and killed")
    func daemonIsNamed() async throws {
        let reports = WorkerReports(publisher)
        let (lines, left) = (Collected<WorkerOutput>(), Collected<WorkerLeftBehind>())
        let subscription = publisher.subscribe(to: WorkerLeftBehind.self) { left.add($0) }
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("daemon", subscribes: [WorkRequested.self])],
            output: { lines.add($0) }
        )
        try await bridge.start()
        let daemon = try #require(number(in: await lines.wait { !$0.isEmpty }, behind: "daemon"))
        let worker = try pid(of: bridge)
        #expect(ProcessSignal.kill(worker))
        let found = await left.wait { !$0.isEmpty }
        #expect(found.first?.pid == worker)
        #expect(found.first?.processes.map(\.pid) == [daemon])
        #expect(found.first?.processes.first?.command == "sleep 300")
        while ProcessSignal.isRunning(daemon) { await Task.yield() }
        await reports.ready.wait { $0.count == 2 }
        // Another thread reports the exit than the left process, but before the next start.
        #expect(reports.exits.all.map(\.reason) == ["killed by SIGKILL (9)"])
        // The same happens at the end, before the shutdown returns.
        await lines.wait { $0.count { $0.line.hasPrefix("daemon") } == 2 }
        await bridge.shutdown()
        #expect(left.all.count == 2)
        subscription.cancel()
        reports.end()
    }

    @Test("A17: a worker that ignores SIGTERM is killed, and the shutdown says what it has left unhandled")
    func ignoresTermination() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty(
                    "ignore-sigterm",
                    shutdown: .draining(grace: .milliseconds(50), terminate: .milliseconds(50)),
                    subscribes: [WorkRequested.self]
                )
            ]
        )
        try await bridge.start()
        for number: Int64 in 1...3 { publisher.publish(WorkRequested(number: number, text: "")) }
        let report = await bridge.shutdown(drainingWithin: .zero)
        #expect(report.leftovers.map(\.events) == [3])
        let exit = try #require(reports.exits.all.first)
        #expect(exit.reason == "killed by SIGKILL (9)" && exit.wasAsked)
        reports.end()
    }

    @Test(
        "A19: a flood of output is passed on as far as its rate allows, the rest is counted and said, and nothing waits"
    )
    func floodOfOutput() async throws {
        let reports = WorkerReports(publisher)
        let dropped = Collected<WorkerOutputDropped>()
        let lines = Tally()
        let subscription = publisher.subscribe(to: WorkerOutputDropped.self) { dropped.add($0) }
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty("flood-stdout", subscribes: [WorkRequested.self], limits: WorkerLimits(output: 16 << 10))
            ],
            output: { lines.add($0.line.utf8.count) }
        )
        try await bridge.start()
        let count = Int64(rounds(30_000))
        publisher.publish(WorkRequested(number: count, text: ""))
        // The worker answers when everything is written, so the host has read the output as fast as it came.
        await reports.done.wait { $0.count == 1 }
        await bridge.shutdown()
        let left = dropped.all.reduce(0) { $0 + $1.lines }
        #expect(lines.count + left == 2 * Int(count))
        #expect(left > 0 && lines.count > 0)
        #expect(dropped.all.reduce(0) { $0 + $1.bytes } == left * (lines.bytes / lines.count))
        subscription.cancel()
        reports.end()
    }

    @Test("A21: a worker whose status other code has taken is reported as that, and replaced")
    func reapedElsewhere() async {
        // In a process of its own, where no other test has children.
        await #expect(processExitsWith: .success) {
            let publisher = EventPublisher()
            let reports = WorkerReports(publisher)
            let (reached, released) = (Collected<Bool>(), Barrier())
            let bridge = try BridgeHost(
                publisher: publisher,
                workers: [faulty("flood-stdout", subscribes: [WorkRequested.self])],
                output: { _ in
                    // The thread that would take the status is held here.
                    reached.add(true)
                    released.wait()
                }
            )
            try await bridge.start()
            publisher.publish(WorkRequested(number: 1, text: ""))
            await reached.wait { !$0.isEmpty }
            let worker = try #require(bridge.status.first?.pid)
            #expect(ProcessSignal.kill(worker))
            while true {
                // Waits for any child, as code does that takes all children for its own; the workers' guard lives on.
                let found = waitpid(-1, nil, WNOHANG)
                if found == worker { break }
                #expect(found == 0)
            }
            released.open()
            await reports.ready.wait { $0.count == 2 }
            let exit = try #require(reports.exits.all.first)
            #expect(exit.reason.contains("something else in this process took its exit status"))
            #expect(exit.exit == nil && exit.usage == nil && exit.pid == worker)
            await bridge.shutdown()
            reports.end()
        }
    }

    @Test(
        "A22: without a free descriptor a worker is not started, which is said, and started when there are some again"
    )
    func withoutDescriptors() async {
        await #expect(processExitsWith: .success) {
            let publisher = EventPublisher()
            let reports = WorkerReports(publisher)
            let bridge = try BridgeHost(
                publisher: publisher,
                workers: [faulty("none", subscribes: [WorkRequested.self])],
                intensity: RestartIntensity(restarts: 1_000_000, within: .seconds(3_600))
            )
            try await bridge.start()
            limitDescriptors(to: 200)
            var filling: [CInt] = []
            while case let copy = dup(0), copy >= 0 { filling.append(copy) }
            #expect(ProcessSignal.kill(try #require(bridge.status.first?.pid)))
            await reports.exits.wait { $0.count >= 3 }
            #expect(reports.exits.all[1].reason.contains("(EMFILE)"))
            #expect(reports.exits.all[1].pid == nil)
            #expect(reports.exits.all[1].next.hasPrefix("backing off"))
            for descriptor in filling { close(descriptor) }
            await reports.ready.wait { $0.count == 2 }
            publisher.publish(WorkRequested(number: 1, text: ""))
            await reports.done.wait { $0.count == 1 }
            await bridge.shutdown()
            reports.end()
        }
    }

    @Test(
        "A23: of many workers that are killed in the same instant none is forgotten: all are reaped, told and replaced"
    )
    func manyAtOnce() async {
        await #expect(processExitsWith: .success) {
            let publisher = EventPublisher()
            let reports = WorkerReports(publisher)
            let count = rounds(64, atLeast: 12)
            let bridge = try BridgeHost(
                publisher: publisher,
                workers: (0..<count).map { faulty("none", name: "w\($0)", subscribes: [WorkRequested.self]) },
                intensity: RestartIntensity(restarts: 1_000, within: .seconds(3_600))
            )
            try await bridge.start()
            let first = bridge.status.compactMap(\.pid)
            #expect(first.count == count)
            for worker in first { #expect(ProcessSignal.kill(worker)) }
            await reports.ready.wait { $0.count == 2 * count }
            #expect(reports.exits.all.count == count)
            #expect(Set(reports.exits.all.compactMap(\.pid)) == Set(first))
            #expect(reports.exits.all.allSatisfy { $0.exit?.signalName == "SIGKILL" && $0.usage != nil })
            // A zombie could still be signalled.
            #expect(!first.contains(where: ProcessSignal.isAlive))
            await bridge.shutdown()
            var information = siginfo_t()
            #expect(waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT) == -1 && errno == ECHILD)
            reports.end()
        }
    }

    @Test("N11: what a forked child writes to the link after its parent's death harms nothing, nor does the host wait")
    func childWrites() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("write-after-death", subscribes: [WorkRequested.self])]
        )
        try await bridge.start()
        publisher.publish(WorkRequested(number: 1, text: ""))
        await reports.done.wait { $0.count == 1 }
        #expect(ProcessSignal.kill(try pid(of: bridge)))
        publisher.publish(WorkRequested(number: 2, text: ""))
        await reports.ready.wait { $0.count == 2 }
        await reports.done.wait { $0.contains { $0.number == 2 } }
        #expect(reports.exits.all.count == 1)
        #expect(reports.exits.all.first?.exit?.signalName == "SIGKILL")
        #expect(reports.done.all.allSatisfy { $0.number == 1 || $0.number == 2 })
        await bridge.shutdown()
        reports.end()
    }

    @Test("N14: while its program is being replaced a worker waits, which is named, and goes on with the new one")
    func programIsReplaced() async throws {
        let reports = WorkerReports(publisher)
        let directory = try TemporaryDirectory()
        let (program, source) = (
            directory.path + "/worker", try CurrentProcess.executableDirectory() + "/faulty-worker"
        )
        try FileManager.default.copyItem(atPath: source, toPath: program)
        var specification = faulty("none", subscribes: [WorkRequested.self])
        specification.child.executable = .path(program)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [specification],
            intensity: RestartIntensity(restarts: 1_000_000, within: .seconds(3_600))
        )
        try await bridge.start()
        // As an installer does: the old file is removed, and the new one is executable while it grows.
        #expect(unlink(program) == 0)
        let file = open(program, O_WRONLY | O_CREAT | O_CLOEXEC, 0o755)
        #expect(file >= 0)
        #expect(ProcessSignal.kill(try pid(of: bridge)))
        await reports.exits.wait { $0.contains { $0.reason.contains("(ETXTBSY)") } }
        close(file)
        await reports.exits.wait { $0.contains { $0.reason.contains("(ENOEXEC)") } }
        #expect(reports.exits.all.allSatisfy { $0.next.hasPrefix("backing off") })
        #expect(reports.exits.all.dropFirst().allSatisfy { $0.reason.contains(program) })
        try FileManager.default.copyItem(atPath: source, toPath: program + ".new")
        #expect(rename(program + ".new", program) == 0)
        await reports.ready.wait { $0.count == 2 }
        await bridge.shutdown()
        reports.end()
    }

    @Test("An end is told as a value: status or signal, the limit behind it, and what the process had used")
    func endsAreValues() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty("exceed-file-size", name: "limited", restart: .temporary, subscribes: [WorkRequested.self]),
                faulty("exit-on:WorkRequested", name: "leaving", restart: .temporary, subscribes: [WorkRequested.self]),
            ]
        )
        try await bridge.start()
        publisher.publish(WorkRequested(number: 1, text: ""))
        let exits = await reports.exits.wait { $0.count == 2 }
        let limited = try #require(exits.first { $0.worker == "limited" })
        #expect(limited.reason.hasPrefix("killed by SIGXFSZ (25), its limit for the size of a file"))
        #expect(limited.exit?.signal == SIGXFSZ && limited.exit?.signalName == "SIGXFSZ")
        #expect(limited.exit?.exceededLimit == .fileSize && limited.exit?.status == nil)
        let leaving = try #require(exits.first { $0.worker == "leaving" })
        #expect(leaving.exit?.status == 0 && leaving.exit?.signal == nil && leaving.exit?.exceededLimit == nil)
        for exit in exits {
            let usage = try #require(exit.usage)
            #expect(usage.userTime + usage.systemTime > .zero && usage.peakMemory ?? .max > 1 << 20)
            #expect(bridge.status.first { $0.name == exit.worker }?.deaths.last?.usage == exit.usage)
        }
        await bridge.shutdown()
        reports.end()
    }
}

private func limitDescriptors(to count: rlim_t) {
    #if os(Linux)
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
    let resource = RLIMIT_NOFILE
    #endif
    var limit = rlimit()
    getrlimit(resource, &limit)
    limit.rlim_cur = count
    setrlimit(resource, &limit)
}

/// Counts lines and their bytes.
private final class Tally: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var found = (count: 0, bytes: 0)

    var count: Int { lock.withLock { found.count } }

    var bytes: Int { lock.withLock { found.bytes } }

    func add(_ bytes: Int) {
        lock.withLock { found = (found.count + 1, found.bytes + bytes) }
    }
}

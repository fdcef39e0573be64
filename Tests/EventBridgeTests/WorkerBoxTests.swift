import BridgePlatform
import DomainEvents
import EventBridge
import ExampleDomain
import FoundationEssentials
import Supervision
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

#if os(Linux)
@Suite("Workers in a box", .serialized, .timeLimit(.minutes(5)))
struct WorkerBoxTests {
    private let publisher = EventPublisher()

    /// The answers of a worker that tries these acts, one after the other; nil, with a report, where this system lacks
    /// what the box needs.
    private func answers(_ row: String, in box: WorkerBox, _ tries: [String]) async throws -> [String]? {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("reach", subscribes: [WorkRequested.self], box: box)]
        )
        defer { reports.end() }
        do {
            try await bridge.start()
        } catch {
            let reason = reports.exits.all.first?.reason ?? ""
            guard reason.contains("need") else { throw error }
            CurrentProcess.report("not tested: \(row), as it \(reason)")
            await bridge.shutdown()
            return nil
        }
        for (index, text) in tries.enumerated() {
            publisher.publish(WorkRequested(number: Int64(index), text: text))
        }
        let done = await reports.done.wait { $0.count == tries.count }
        await bridge.shutdown()
        return done.map(\.text)
    }

    @Test(
        "F16: a worker in a box reads and writes what it was given, and nothing else; without one it can do all of this"
    )
    func files() async throws {
        let (given, other) = (try TemporaryDirectory(), try TemporaryDirectory())
        #expect(FileManager.default.createFile(atPath: other.path + "/secret", contents: nil))
        let tries = [
            "write \(given.path)/file", "read \(given.path)/file", "read \(other.path)/secret",
            "write \(other.path)/file", "start-process",
        ]
        let box = WorkerBox(files: .init(writable: [given.path]))
        if let found = try await answers("F16 files", in: box, tries) {
            #expect(found == ["done", "done", "EACCES", "EACCES", "done"])
        }
        #expect(try await answers("F16", in: WorkerBox(), tries) == Array(repeating: "done", count: 5))
    }

    @Test("F16: a worker without network reaches no other machine and no port of its own, and its link works")
    func network() async throws {
        let box = WorkerBox(allowsNetwork: false)
        if let found = try await answers("F16 network", in: box, ["connect", "socketpair"]) {
            #expect(found == ["EAFNOSUPPORT", "done"])
        }
        #expect(try await answers("F16", in: WorkerBox(), ["connect"]) == ["ECONNREFUSED"])
    }

    @Test("F16: a worker that opens files without end gets no more, says so, and goes on")
    func openFiles() async throws {
        let found = try await answers("F16", in: WorkerBox(openFiles: 64), ["open-files", "open-files"])
        #expect(found == ["EMFILE", "EMFILE"])
    }

    /// The ends of workers that misbehave in this box each time that their event comes, until the event is put aside.
    private func deaths(_ misbehaviour: String, _ text: String = "", in box: WorkerBox) async throws -> [WorkerExited] {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty(misbehaviour, subscribes: [WorkRequested.self], limits: WorkerLimits(strikes: 2), box: box)
            ]
        )
        try await bridge.start()
        publisher.publish(WorkRequested(number: 1, text: text))
        await reports.deadLettered.wait { $0.count == 1 }
        await reports.ready.wait { $0.count == 3 }
        await bridge.shutdown()
        reports.end()
        return reports.exits.all.filter { !$0.wasAsked }
    }

    @Test("F16: a worker that spins is killed at its limit of processor time, which is named, and replaced")
    func processorTime() async throws {
        let exits = try await deaths("spin", in: WorkerBox(processorTime: .seconds(1)))
        #expect(exits.count == 2)
        for exit in exits {
            #expect(exit.reason.hasPrefix("killed by SIGXCPU (24), its limit of processor time"))
            #expect(exit.exit?.exceededLimit == .processorTime)
        }
    }

    @Test("F16: a worker that writes too large a file is killed, and the limit is named")
    func fileSize() async throws {
        let directory = try TemporaryDirectory()
        let exits = try await deaths("reach", "grow \(directory.path)/file", in: WorkerBox(fileSize: 1 << 20))
        #expect(exits.map(\.exit?.exceededLimit) == [.fileSize, .fileSize])
    }

    @Test("F16: a worker that takes memory without end ends at its limit, which is named")
    func memory() async throws {
        if !CurrentProcess.sanitizerOptions.isEmpty {
            CurrentProcess.report("not tested: F16 memory, as a sanitizer takes more than any limit")
            return
        }
        // In a process of its own. The limit is far above the memory that this process ever had, because the system
        // counts that as the memory of its children too.
        await #expect(processExitsWith: .success) {
            let exits = try await WorkerBoxTests().deaths("allocate", in: WorkerBox(memory: 2 << 30, core: 0))
            #expect(exits.count == 2)
            for exit in exits {
                #expect(
                    exit.reason.hasPrefix("killed by SIG")
                        && exit.reason.hasSuffix(", at its limit of memory (2 GiB)")
                )
                #expect(exit.exit?.exceededLimit == .memory && exit.exit?.signal != nil)
            }
        }
    }

    @Test("A path of the box that is not there is named, and no further start is tried")
    func missingPath() async throws {
        let reports = WorkerReports(publisher)
        let box = WorkerBox(files: .init(readOnly: ["/no/such/path"]))
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("none", subscribes: [WorkRequested.self], box: box)]
        )
        await #expect(throws: BridgeError.self) { try await bridge.start() }
        let reason = try #require(reports.exits.all.first?.reason)
        if reason.contains("Landlock") {
            CurrentProcess.report("not tested: F16 paths, as it \(reason)")
        } else {
            #expect(reason.contains("whose box gives it /no/such/path, failed: No such file or directory (ENOENT)"))
            #expect(reports.exits.all.count == 1)
        }
        await bridge.shutdown()
        reports.end()
    }

    /// Why a bridge does not start whose worker "reader" has a box with this path; nil if it starts.
    private func refusal(
        of path: String,
        in directory: String? = nil,
        beside writer: WorkerSpecification
    ) async throws -> String? {
        let reports = WorkerReports(publisher)
        var reader = faulty("none", name: "reader", subscribes: [WorkRequested.self])
        reader.box = WorkerBox(files: .init(readOnly: [path]))
        reader.child.workingDirectory = directory
        let bridge = try BridgeHost(publisher: publisher, workers: [writer, reader])
        var reason: String?
        do {
            try await bridge.start()
        } catch {
            let exits = reports.exits.all
            reason = (exits.first { $0.worker == "reader" } ?? exits.first)?.reason ?? "\(error)"
        }
        await bridge.shutdown()
        reports.end()
        return reason
    }

    @Test("F16: a path that another worker has replaced by a link is not opened to this worker")
    func replacedPath() async throws {
        let (given, other) = (try TemporaryDirectory(), try TemporaryDirectory())
        var writer = faulty("none", name: "writer", subscribes: [WorkRequested.self])
        writer.box = WorkerBox(files: .init(writable: ["."]))
        writer.child.workingDirectory = given.path
        try FileManager.default.createDirectory(atPath: given.path + "/kept", withIntermediateDirectories: false)
        if let reason = try await refusal(of: given.path + "/kept", beside: writer) {
            #expect(reason.contains("Landlock"))
            return CurrentProcess.report("not tested: F16 paths, as it \(reason)")
        }
        try FileManager.default.createSymbolicLink(
            atPath: given.path + "/replaced",
            withDestinationPath: other.path
        )
        let way = "by way of a link in a directory that a worker may write, failed: Permission denied (EACCES)"
        let path = given.path + "/replaced"
        #expect(try await refusal(of: path, beside: writer)?.contains("gives it \(path) \(way)") == true)
        // A working directory that was replaced opens no relative path.
        let relative = try await refusal(of: ".", in: path, beside: writer)
        #expect(relative?.contains("gives it \(path)/. \(way)") == true)
    }

    @Test("Mistakes in a box are named with the worker")
    func mistakes() {
        let wrong = WorkerBox(
            memory: 1,
            processorTime: .milliseconds(1_500),
            openFiles: 3,
            processes: 0,
            core: -1,
            fileSize: -1,
            files: .init(readOnly: [""], writable: ["a\0b"]),
            umask: 0o1000
        )
        let found = WorkerSpecification.validate([faulty("none", subscribes: [], box: wrong)])
        #expect(found.count == 9)
        #expect(found.allSatisfy { $0.hasPrefix("worker \"faulty\": its box: ") })
        #expect(found.contains("worker \"faulty\": its box: the processor time is 1.5 s; it has to be whole seconds"))
        let right = WorkerBox(memory: 1 << 30, processorTime: .seconds(1), openFiles: 16, core: 0, umask: 0o777)
        #expect(WorkerSpecification.validate([faulty("none", subscribes: [], box: right)]).isEmpty)
    }
}
#endif

import BridgePlatform
import DomainEvents
import EventBridge
import ExampleDomain
import FoundationEssentials
import TestSupport
import Testing

@Suite("Workers and the control socket of their own host", .serialized, .timeLimit(.minutes(5)))
struct WorkerControlTests {
    /// The answers of a worker that runs these scripts, in which SUPERVISOR and SOCKET stand for a program and a path.
    ///
    /// - Parameter isReported: whether to wait for a report about the socket.
    private func answers(
        allowsControl: Bool = false,
        in box: WorkerBox? = nil,
        isReported: Bool = false,
        _ scripts: [String]
    ) async throws -> (answers: [String], reports: [String]) {
        let publisher = EventPublisher()
        let directory = try PrivateDirectory()
        let socket = directory.path + "/s"
        let reports = WorkerReports(publisher)
        let told = Collected<ControlSocketReported>()
        let telling = publisher.subscribe(to: ControlSocketReported.self) { told.add($0) }
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty("reach", subscribes: [WorkRequested.self], box: box, allowsControl: allowsControl)
            ],
            control: ControlSocket(socket)
        )
        try await bridge.start()
        let supervisor = try CurrentProcess.executableDirectory() + "/supervisor"
        for (index, script) in scripts.enumerated() {
            let text = script.replacing("SUPERVISOR", with: supervisor).replacing("SOCKET", with: socket)
            publisher.publish(WorkRequested(number: Int64(index), text: "shell " + text))
        }
        let done = await reports.done.wait { $0.count == scripts.count }
        if isReported { await told.wait { !$0.isEmpty } }
        await bridge.shutdown()
        reports.end()
        telling.cancel()
        return (done.map(\.text), told.all.map(\.text))
    }

    private static let ask = "SUPERVISOR status --control SOCKET >/dev/null 2>&1"

    @Test("a worker's process, and one that it has started, is refused by name, which the host reports")
    func descent() async throws {
        let script = "SUPERVISOR status --control SOCKET 2>&1 | grep -q 'belongs to worker \"faulty\"'"
        let (answers, reports) = try await answers(isReported: true, [script, Self.ask])
        #expect(answers.first == "done")
        #expect(answers.last != "done")
        #expect(reports.allSatisfy { $0.contains("came from worker \"faulty\", which may not control its host") })
    }

    @Test("one that has left its parents and its process group is known by its mark, where the system shows it")
    func daemon() async throws {
        guard CurrentProcess.isExecutableFile("/usr/bin/setsid") else {
            CurrentProcess.report("not tested: a daemon that attaches, without /usr/bin/setsid")
            return
        }
        let directory = try TemporaryDirectory()
        let found = directory.path + "/found"
        // The daemon's parent has ended before the daemon begins to attach.
        let daemon = "sleep 0.2; SUPERVISOR status --control SOCKET >\(found).new 2>&1; mv \(found).new \(found)"
        let script = """
            setsid sh -c '(\(daemon)) &'; while ! test -e \(found); do sleep 0.05; done; \
            grep -q 'belongs to worker "faulty"' \(found)
            """
        #expect(try await answers([script]).answers == ["done"])
    }

    @Test("a connection whose process has ended is refused: it may have been a worker's")
    func handedOn() async throws {
        let python = "/usr/bin/python3"
        guard CurrentProcess.isExecutableFile(python) else {
            CurrentProcess.report("not tested: a connection that was handed on, without \(python)")
            return
        }
        let directory = try TemporaryDirectory()
        // The child connects and ends, and its own child uses the connection once the child has been waited for.
        let text = """
            import os, socket, subprocess, sys, threading
            host, proxy, supervisor = sys.argv[1:]
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(proxy)
            listener.listen()
            child = os.fork()
            if child == 0:
                link = socket.socket(socket.AF_UNIX)
                link.connect(host)
                if os.fork():
                    os._exit(0)
                client, _ = listener.accept()
                def relay(source, target):
                    while data := source.recv(65536):
                        target.sendall(data)
                    target.shutdown(socket.SHUT_WR)
                threading.Thread(target=relay, args=(client, link), daemon=True).start()
                relay(link, client)
                os._exit(0)
            os.waitpid(child, 0)
            status = subprocess.run([supervisor, "status", "--control", proxy], stderr=subprocess.PIPE, text=True)
            wanted = f"process {child}, which connected, has ended"
            sys.exit(0 if wanted in status.stderr and status.returncode else 1)
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: directory.path + "/relay.py"))
        let script = "\(python) \(directory.path)/relay.py SOCKET \(directory.path)/proxy SUPERVISOR"
        #expect(try await answers([script]).answers == ["done"])
    }

    @Test("a worker whose specification lets it control the host is let in")
    func allowed() async throws {
        let (answers, reports) = try await answers(allowsControl: true, [Self.ask])
        #expect(answers == ["done"])
        #expect(reports.isEmpty)
    }

    @Test("in a box without network it cannot even connect, unless its box and its specification say so")
    func box() async throws {
        let script = "SUPERVISOR status --control SOCKET 2>&1 | grep -q EACCES"
        do {
            #expect(try await answers(in: WorkerBox(allowsNetwork: false), [script]).answers == ["done"])
            let open = WorkerBox(allowsNetwork: false, allowsConnections: true)
            #expect(try await answers(in: open, [Self.ask]).answers != ["done"])
            #expect(try await answers(allowsControl: true, in: open, [Self.ask]).answers == ["done"])
        } catch let error as BridgeError where error.description.contains("need") {
            CurrentProcess.report("not tested: a control socket in a box, as \(error)")
        }
    }
}

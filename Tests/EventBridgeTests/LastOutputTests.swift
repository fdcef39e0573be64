import BridgeClient
import BridgePlatform
import DomainEvents
import EventRouting
import ExampleDomain
import Supervision
import TestSupport
import Testing

@testable import EventBridge

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("A worker's last words")
struct LastOutputTests {
    private func shell(_ script: String, environment: [String: String] = [:]) -> WorkerSpecification {
        WorkerSpecification(
            "shell",
            executable: .path("/bin/sh"),
            arguments: ["-c", script],
            environment: environment,
            restart: .temporary
        )
    }

    /// The error of a start whose worker ends at once, with the worker's last output.
    private func lastOutput(of worker: WorkerSpecification) async throws -> BridgeError? {
        let bridge = try BridgeHost(publisher: EventPublisher(), workers: [worker], output: { _ in })
        let error = await #expect(throws: BridgeError.self) { try await bridge.start() }
        await bridge.shutdown()
        return error
    }

    @Test("A worker that does not become ready is named with the end of what it had printed", .timeLimit(.minutes(5)))
    func failedStart() async throws {
        let script = "echo reading; echo no such table >&2; printf 'half a line'; exit 3"
        let error = try await lastOutput(of: shell(script))
        let lines = try #require(error?.lastOutput).split(separator: "\n")
        // Two pipes have no order between them.
        #expect(lines.sorted() == ["half a line", "no such table", "reading"])
        #expect(error?.description.contains("exited with status 3") == true)
        #expect(error?.description.contains("; what it had printed last:\n  ") == true)
        #expect(error?.description.contains("\n  no such table") == true)
    }

    @Test("A worker that prints nothing has none", .timeLimit(.minutes(5)))
    func silent() async throws {
        let error = try await lastOutput(of: shell("exit 3"))
        #expect(error != nil && error?.lastOutput == nil)
        #expect(error?.description.contains("printed") == false)
    }

    @Test("The reports of its end have them", .timeLimit(.minutes(5)))
    func reports() async throws {
        let publisher = EventPublisher()
        let (exits, givenUp) = (Collected<WorkerExited>(), Collected<WorkerGaveUp>())
        let subscriptions = [
            publisher.subscribe(to: WorkerExited.self) { exits.add($0) },
            publisher.subscribe(to: WorkerGaveUp.self) { givenUp.add($0) },
        ]
        var worker = shell("echo the reason >&2; exit 3")
        worker.child.restart = .permanent
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [worker],
            intensity: RestartIntensity(restarts: 1, within: .seconds(3_600)),
            output: { _ in }
        )
        await #expect(throws: BridgeError.self) { try await bridge.start() }
        #expect(exits.all.map(\.lastOutput) == ["the reason", "the reason"])
        #expect(givenUp.all.map(\.lastOutput) == ["the reason"])
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("A line that was printed right before a crash is among them", .timeLimit(.minutes(5)))
    func lineBeforeCrash() async throws {
        let publisher = EventPublisher()
        let exits = Collected<WorkerExited>()
        let subscription = publisher.subscribe(to: WorkerExited.self) { exits.add($0) }
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty("trap-on:poison", subscribes: [WorkRequested.self], limits: WorkerLimits(strikes: 1))
            ],
            output: { _ in }
        )
        try await bridge.start()
        publisher.publish(WorkRequested(number: 1, text: "poison"))
        let exit = await exits.wait { !$0.isEmpty }.first
        #expect(exit?.lastOutput?.contains("about to trap") == true)
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("A worker does without Swift's backtracer, unless its environment says otherwise", .timeLimit(.minutes(5)))
    func backtracer() async throws {
        let plain = try await lastOutput(of: shell("echo $SWIFT_BACKTRACE"))
        #expect(plain?.lastOutput == CurrentProcess.environment("SWIFT_BACKTRACE") ?? SpawnRequest.noBacktraces)
        let own = try await lastOutput(of: shell("echo $SWIFT_BACKTRACE", environment: ["SWIFT_BACKTRACE": "color=no"]))
        #expect(own?.lastOutput == "color=no")
    }

    @Test("Neither many lines nor long ones take more than their room, and the last ones stay")
    func bounds() {
        var tail = OutputTail()
        #expect(tail.text == nil)
        for number in 1...1_000 { tail.add(LinePipe.Line(bytes: Array("\(number)".utf8), isContinued: false)) }
        #expect(tail.text == (937...1_000).map(String.init).joined(separator: "\n"))
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: 16_384)
        for _ in 1...100 { tail.add(LinePipe.Line(bytes: long, isContinued: true)) }
        #expect(tail.text?.split(separator: "\n").map(\.count) == [Int](repeating: 1_024, count: 8))
    }
}

@Suite("What workers print and nothing subscribes to")
struct UnclaimedOutputTests {
    private let publisher = EventPublisher()

    private func gate(to output: UnclaimedOutput, _ poller: Poller, worker: String = "w") -> OutputGate {
        OutputGate(
            worker: worker,
            rate: 1 << 20,
            reports: ReportStrand(publisher: publisher, poller: poller),
            poller: poller,
            router: nil,
            target: .published(otherwise: output)
        )
    }

    private func line(_ text: String) -> LinePipe.Line { LinePipe.Line(bytes: Array(text.utf8), isContinued: false) }

    private func close(_ descriptor: consuming FileDescriptor) {}

    private static func close(_ number: CInt) { _ = FileDescriptor(owning: number) }

    private func text(in descriptor: SharedDescriptor) throws -> String {
        try FileDescriptor.setNonBlocking(descriptor.rawValue)
        var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 17))
        while true {
            let count = buffer.withUnsafeMutableBytes { read(descriptor.rawValue, $0.baseAddress, $0.count) }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }

    @Test("goes to standard error with the worker's name, harmless for a terminal; and not if something subscribes")
    func standardError() throws {
        let poller = try Poller(name: "test")
        let pipe = try FileDescriptor.pipe()
        let (reading, writing) = (SharedDescriptor(pipe.reading), SharedDescriptor(pipe.writing))
        let gate = gate(to: UnclaimedOutput(writing.rawValue), poller)
        gate.take(line("hello"), isError: false)
        gate.take(line("\u{1B}[2Jbad"), isError: true)
        #expect(try text(in: reading) == "[w] hello\n[w] \\u001b[2Jbad\n")
        let subscription = publisher.subscribe(to: WorkerOutput.self) { _ in }
        gate.take(line("claimed"), isError: false)
        #expect(try text(in: reading).isEmpty)
        subscription.cancel()
        gate.take(line("again"), isError: false)
        #expect(try text(in: reading) == "[w] again\n")
        withExtendedLifetime(writing) {}
        poller.stop()
    }

    @Test("goes there also while a client follows it", .timeLimit(.minutes(5)))
    func attachedClient() async throws {
        let home = try AttachHome()
        let attached = home.publisher.subscribe(to: ClientAttached.self) { home.attached.add($0) }
        let bridge = try BridgeHost(
            publisher: home.publisher,
            workers: [faulty("flood-stdout", subscribes: [WorkRequested.self])],
            control: ControlSocket(home.path)
        )
        try await bridge.start()
        let (publisher, followed) = (EventPublisher(), Collected<WorkerOutput>())
        let following = publisher.subscribe(to: WorkerOutput.self) { followed.add($0) }
        let client = try await home.attach(publisher)
        let pipe = try FileDescriptor.pipe()
        let (reading, writing) = (SharedDescriptor(pipe.reading), SharedDescriptor(pipe.writing))
        let own = dup(STDERR_FILENO)
        try #require(own >= 0 && dup2(writing.rawValue, STDERR_FILENO) == STDERR_FILENO)
        home.publisher.publish(WorkRequested(number: 1, text: ""))
        await followed.wait { $0.count == 2 }
        await client.close()
        await bridge.shutdown()
        dup2(own, STDERR_FILENO)
        Self.close(own)
        let printed = try text(in: reading).split(separator: "\n")
        #expect(printed.count { $0.hasPrefix("[faulty] a line that nothing") } == 2)
        withExtendedLifetime((attached, following, writing)) {}
    }

    @Test("beside it stands what a bridge has lost that is released without a shutdown", .timeLimit(.minutes(5)))
    func released() async throws {
        let worker = faulty("slow:600s", subscribes: [WorkRequested.self])
        var bridge: BridgeHost? = try BridgeHost(publisher: publisher, workers: [worker])
        try await bridge?.start()
        for number in Int64(1)...2 { publisher.publish(WorkRequested(number: number, text: "")) }
        let pipe = try FileDescriptor.pipe()
        let (reading, writing) = (SharedDescriptor(pipe.reading), SharedDescriptor(pipe.writing))
        let own = dup(STDERR_FILENO)
        try #require(own >= 0 && dup2(writing.rawValue, STDERR_FILENO) == STDERR_FILENO)
        bridge = nil
        dup2(own, STDERR_FILENO)
        Self.close(own)
        let lost = "a bridge was released without a shutdown; not handled: 2 events for \"faulty\"\n"
        #expect(try text(in: reading).contains(lost))
        withExtendedLifetime(writing) {}
    }

    @Test("waits for no reader, and begins a line anew behind one that was cut", .timeLimit(.minutes(1)))
    func fullPipe() throws {
        let poller = try Poller(name: "test")
        let pipe = try FileDescriptor.pipe()
        let (reading, writing) = (SharedDescriptor(pipe.reading), SharedDescriptor(pipe.writing))
        let output = UnclaimedOutput(writing.rawValue)
        let (one, other) = (gate(to: output, poller), gate(to: output, poller, worker: "other"))
        // More than a pipe takes, so that one of the lines is cut.
        let long = String(repeating: "x", count: 16_384)
        for _ in 1...10 { one.take(line(long), isError: false) }
        _ = try text(in: reading)
        other.take(line("later"), isError: false)
        one.take(line("last"), isError: false)
        #expect(try text(in: reading) == "\n[other] later\n[w] last\n")
        withExtendedLifetime(writing) {}
        poller.stop()
    }

    @Test("whose reader is gone is passed over", .timeLimit(.minutes(1)))
    func readerIsGone() async throws {
        let poller = try Poller(name: "test")
        let pipe = try FileDescriptor.pipe()
        let writing = SharedDescriptor(pipe.writing)
        close(pipe.reading)
        let (gate, taken) = (gate(to: UnclaimedOutput(writing.rawValue), poller), Collected<Bool>())
        // The thread that reads output blocks SIGPIPE.
        let (first, second) = (line("nobody reads this"), line("nor this"))
        poller.perform {
            gate.take(first, isError: true)
            gate.take(second, isError: true)
            taken.add(true)
        }
        await taken.wait { $0 == [true] }
        withExtendedLifetime(writing) {}
        poller.stop()
    }
}

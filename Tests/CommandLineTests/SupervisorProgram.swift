import BridgePlatform
import Locks
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The built program `supervisor`, run as a shell would run it: arguments in, lines and a status out.
final class SupervisorProgram: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// The status and the lines of a program that has ended.
    struct Result: Sendable {
        let status: BridgePlatform.ExitStatus
        let output: [String]
        let errors: [String]
    }

    /// Turns a hang into a failure before the tests' own time limit, which could not end the program.
    private static let deadline: UInt64 = 240_000_000_000

    private let lock = Lock()
    private var output: [String] = []
    private var errors: [String] = []
    private var child: ChildProcess?
    /// The descriptor for later input; nil if the whole input was known at the start, or has been written.
    private var laterInput: CInt?
    private var rest = 3
    private var status = BridgePlatform.ExitStatus.exited(code: -1)
    private var continuation: CheckedContinuation<Result, Never>?

    /// Where the programs of this build are.
    static func products() throws -> String {
        if let directory = CurrentProcess.environment("EVENT_BRIDGE_PRODUCTS") { return directory }
        // On Darwin the tests are a bundle beside the programs, which another program loads.
        if let bundle = CommandLine.arguments.first(where: { $0.contains(".xctest") }), bundle.hasPrefix("/") {
            let path = bundle.prefix(upTo: bundle.firstRange(of: ".xctest")?.lowerBound ?? bundle.endIndex)
            if let slash = path.lastIndex(of: "/") { return String(path[..<slash]) }
        }
        return try CurrentProcess.executableDirectory()
    }

    /// Runs the program to its end; one that does not end is killed.
    ///
    /// - Parameters:
    ///   - name: another program of this build than `supervisor`, or the path of one.
    ///   - environment: further variables.
    ///   - passing: further descriptors that it gets.
    ///   - waitsForInput: whether more input follows, with ``finishInput(_:)``.
    ///   - readsOutput: whether the test reads what the program prints.
    ///   - onError: called for each line on standard error, when it comes.
    ///   - onOutput: called for each line on standard output, when it comes.
    ///   - onStart: called when it has been started.
    static func run(
        _ arguments: [String],
        of name: String = "supervisor",
        in directory: String,
        environment: [String: String] = [:],
        passing descriptors: [SpawnRequest.Passed] = [],
        input: String = "",
        waitsForInput: Bool = false,
        readsOutput: Bool = true,
        onError: @escaping @Sendable (SupervisorProgram, String) -> Void = { _, _ in },
        onOutput: @escaping @Sendable (SupervisorProgram, String) -> Void = { _, _ in },
        onStart: @escaping @Sendable (SupervisorProgram) -> Void = { _ in }
    ) async throws -> Result {
        let program = SupervisorProgram()
        let poller = try Poller(name: "program")
        defer { poller.stop() }
        let inputPipe = try FileDescriptor.pipe()
        let outputPipe = try FileDescriptor.pipe()
        let errorPipe = try FileDescriptor.pipe()
        CurrentProcess.writeAll(input, to: inputPipe.writing.rawValue)
        if waitsForInput {
            let later = try FileDescriptor.duplicate(inputPipe.writing.rawValue).release()
            program.lock.withLock { program.laterInput = later }
        }
        defer { program.finishInput("") }
        if waitsForInput || !input.isEmpty { inputPipe.writing.close() }
        var request = SpawnRequest(executable: name.hasPrefix("/") ? name : try products() + "/" + name)
        request.arguments = arguments
        request.environment = ["PATH": "/usr/bin:/bin"]
        request.environment.merge(environment) { $1 }
        request.environment.merge(CurrentProcess.sanitizerOptions) { $1 }
        request.workingDirectory = directory
        request.descriptors = descriptors
        request.standardInput = .descriptor(inputPipe.reading.rawValue)
        request.standardOutput = .descriptor(outputPipe.writing.rawValue)
        request.standardError = .descriptor(errorPipe.writing.rawValue)
        let child = try ChildProcess.spawn(request)
        program.lock.withLock { program.child = child }
        onStart(program)
        outputPipe.writing.close()
        errorPipe.writing.close()
        if readsOutput {
            _ = try LinePipe.capture(
                outputPipe.reading,
                on: poller,
                onLine: { line in
                    program.lock.withLock { program.output.append(line.text) }
                    onOutput(program, line.text)
                },
                onEnd: program.onePartEnded
            )
        } else {
            outputPipe.reading.close()
            program.onePartEnded()
        }
        _ = try LinePipe.capture(
            errorPipe.reading,
            on: poller,
            onLine: { line in
                program.lock.withLock { program.errors.append(line.text) }
                onError(program, line.text)
            },
            onEnd: program.onePartEnded
        )
        try child.onExit(on: poller) { exit in
            program.lock.withLock { program.status = exit.status }
            program.onePartEnded()
        }
        let watchdog = poller.schedule(after: deadline) { _ = try? child.signal(SIGKILL) }
        defer { watchdog.cancelWithoutWaiting() }
        return await withCheckedContinuation { continuation in
            program.lock.withLock { program.continuation = continuation }
            program.resumeIfEnded()
        }
    }

    /// Asks the program to end.
    func terminate() {
        _ = try? lock.withLock { child }?.signal(SIGTERM)
    }

    /// Ends the program without giving it a chance to do anything about it.
    func kill() {
        _ = try? lock.withLock { child }?.signal(SIGKILL)
    }

    /// Stops the program as a debugger does, until ``resume()``.
    func suspend() {
        _ = try? lock.withLock { child }?.signal(SIGSTOP)
    }

    func resume() {
        _ = try? lock.withLock { child }?.signal(SIGCONT)
    }

    /// Gives the program more input.
    func write(_ text: String) {
        guard let descriptor = lock.withLock({ laterInput }) else { return }
        CurrentProcess.writeAll(text, to: descriptor)
    }

    /// Gives the program the last of its input.
    func finishInput(_ text: String) {
        guard let descriptor = lock.withLock({ laterInput.take() }) else { return }
        CurrentProcess.writeAll(text, to: descriptor)
        FileDescriptor(owning: descriptor).close()
    }

    func hangUp() {
        _ = try? lock.withLock { child }?.signal(SIGHUP)
    }

    private func onePartEnded() {
        lock.withLock { rest -= 1 }
        resumeIfEnded()
    }

    private func resumeIfEnded() {
        let ended: (CheckedContinuation<Result, Never>, Result)? = lock.withLock {
            guard rest == 0, let continuation = continuation.take() else { return nil }
            return (continuation, Result(status: status, output: output, errors: errors))
        }
        if let (continuation, result) = ended { continuation.resume(returning: result) }
    }
}

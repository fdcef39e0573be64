import Foundation
import Locks

/// A program that runs beside others in a test: its lines, on either stream, can be waited for.
final class RunningProgram: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    private struct Waiter {
        let matches: @Sendable (String) -> Bool
        let continuation: CheckedContinuation<String?, Never>
    }

    private let lock = Lock()
    private var noted: [String] = []
    private var waiters: [Waiter] = []
    private var program: SupervisorProgram?
    private var hasEnded = false
    private var run: Task<SupervisorProgram.Result, any Error>?

    /// - Parameters:
    ///   - name: another program than `supervisor`.
    ///   - directory: where the program runs.
    ///   - readsOutput: whether the test reads what the program prints on standard output.
    init(
        _ arguments: [String],
        of name: String = "supervisor",
        in directory: String,
        environment: [String: String] = [:],
        readsOutput: Bool = true
    ) {
        let note: @Sendable (SupervisorProgram, String) -> Void = { [weak self] _, line in self?.note(line) }
        let started: @Sendable (SupervisorProgram) -> Void = { [weak self] in self?.started($0) }
        let ended: @Sendable () -> Void = { [weak self] in self?.ended() }
        let run = Task {
            defer { ended() }
            return try await SupervisorProgram.run(
                arguments,
                of: name,
                in: directory,
                environment: environment,
                waitsForInput: true,
                readsOutput: readsOutput,
                onError: note,
                onOutput: note,
                onStart: started
            )
        }
        lock.withLock { self.run = run }
    }

    /// The first line, past or to come, that matches; nil if the program ended without one.
    func line(where matches: @escaping @Sendable (String) -> Bool) async -> String? {
        await withCheckedContinuation { continuation in
            let known: String?? = lock.withLock {
                if let line = noted.first(where: matches) { return line }
                if hasEnded { return .some(nil) }
                waiters.append(Waiter(matches: matches, continuation: continuation))
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
    }

    func line(with text: String) async -> String? { await line { $0.contains(text) } }

    /// The lines that the program has printed so far on both streams.
    var lines: [String] { lock.withLock { noted } }

    func write(_ text: String) { lock.withLock { program }?.write(text) }

    func terminate() { lock.withLock { program }?.terminate() }

    func kill() { lock.withLock { program }?.kill() }

    func hangUp() { lock.withLock { program }?.hangUp() }

    /// Ends its input, and waits for its end.
    func result() async throws -> SupervisorProgram.Result {
        lock.withLock { program }?.finishInput("")
        guard let run = lock.withLock({ run }) else { throw CancellationError() }
        return try await run.value
    }

    private func started(_ program: SupervisorProgram) { lock.withLock { self.program = program } }

    private func note(_ line: String) {
        let line = line.hasSuffix("\r") ? String(line.dropLast()) : line
        let satisfied = lock.withLock {
            noted.append(line)
            let satisfied = waiters.filter { $0.matches(line) }
            waiters.removeAll { $0.matches(line) }
            return satisfied
        }
        for waiter in satisfied { waiter.continuation.resume(returning: line) }
    }

    private func ended() {
        let left = lock.withLock {
            hasEnded = true
            defer { waiters = [] }
            return waiters
        }
        for waiter in left { waiter.continuation.resume(returning: nil) }
    }
}

extension RunningProgram {
    /// `supervisor` at a terminal of its own, which `Fixtures/terminal/terminal.py` plays.
    static func atTerminal(
        _ arguments: [String],
        columns: Int,
        in directory: String,
        environment: [String: String] = [:]
    ) throws -> RunningProgram {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let script = tests.deletingLastPathComponent().appendingPathComponent("Fixtures/terminal/terminal.py").path
        return RunningProgram(
            ["python3", script, "\(columns)", try SupervisorProgram.products() + "/supervisor"] + arguments,
            of: "/usr/bin/env",
            in: directory,
            environment: environment
        )
    }

    /// Types this at the program's terminal.
    func type(_ keys: String) { order("type", "\"\(keys)\"") }

    /// Makes the window this wide.
    func resize(columns: Int) { order("columns", "\(columns)") }

    /// Lets the screen stand still, or go on.
    func hold(_ holds: Bool) { order("hold", "\(holds)") }

    /// Continues the program, which was stopped from the keyboard.
    func foreground() { order("continue", "true") }

    private func order(_ what: String, _ value: String) { write("{\"\(what)\": \(value)}\n") }
}

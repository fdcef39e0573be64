import BridgePlatform
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Runs `shelf-keeper`, which kills itself at a step or is killed, in one directory; the directory goes with the test.
final class ShelfKeeping: Sendable {
    private let mode: String
    private let directory: PrivateDirectory

    init(_ mode: String) throws {
        self.mode = mode
        directory = try PrivateDirectory.make(named: "shelf-keeper")
    }

    deinit {
        for path in ["\(directory.path)/journal", "\(directory.path)/state", directory.path] {
            if let inside = try? StorageDirectory(at: path, makes: false) {
                for name in (try? inside.names()) ?? [] { try? inside.remove(name) }
            }
            rmdir(path)
        }
    }

    private func spawn(step: Int, events: String, _ output: SpawnRequest.Stream) throws -> ChildProcess {
        var request = SpawnRequest(executable: try KillTests.programs() + "/shelf-keeper")
        request.arguments = [mode, directory.path, "\(step)", events]
        request.environment = CurrentProcess.sanitizerOptions
        request.standardOutput = output
        request.standardError = .inherit
        return try ChildProcess.spawn(request)
    }

    /// Compares the account with the journal, without another event.
    func isRight() throws -> Bool {
        try spawn(step: 0, events: "0", .nullDevice).waitForExit().status == .exited(code: 0)
    }

    /// Lets a process publish so many events, and kill itself at this step.
    ///
    /// - Returns: Whether the process came to the step.
    func killItself(at step: Int, events: Int) throws -> Bool {
        switch try spawn(step: step, events: "\(events)", .nullDevice).waitForExit().status {
        case .signaled(OperatingSystem.kill, _): return true
        case .exited(code: 0): return false
        case let status:
            Issue.record("step \(step): the shelf keeper \(status)")
            return false
        }
    }

    /// Kills a process that publishes without an end, when its account has so many events.
    func kill(after count: Int) throws {
        let pipe = try FileDescriptor.pipe()
        let child = try spawn(step: 0, events: "endless", .descriptor(pipe.writing.rawValue))
        pipe.writing.close()
        let output = SystemFile(pipe.reading)
        var said = 0
        while said < count {
            let bytes = try output.read(upTo: 4_096)
            guard !bytes.isEmpty else { break }
            said += bytes.count
        }
        try child.signal(OperatingSystem.kill)
        _ = child.waitForExit()
        #expect(said >= count)
    }

    /// Kills processes at each step in turn, until one comes to its end; after each kill the account has to be right.
    ///
    /// - Returns: How many steps there were.
    func killAtEachStep(events: Int) throws -> Int {
        var step = 1
        while try killItself(at: step, events: events) {
            #expect(try isRight(), "killed at step \(step)")
            step += 1
        }
        return step - 1
    }
}

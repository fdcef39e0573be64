import BridgePlatform
import Dispatch

/// This program, started once more with other arguments, and its output.
struct OwnProgram: Sendable {
    let output: SystemFile
    private let child: ChildProcess

    /// The environment variables that the program inherits besides the options of sanitizers: where its libraries, the
    /// programs that it starts and its temporary files lie.
    private static let inherited = ["PATH", "LD_LIBRARY_PATH", "TMPDIR", "NATS_SERVER"]

    /// - Parameters:
    ///   - socket: becomes descriptor 3 of the new process.
    ///   - directory: where the new process makes its temporary files; if nil, where this process makes them.
    init(_ arguments: [String], socket: CInt? = nil, directory: String? = nil) throws {
        let pipe = try FileDescriptor.pipe()
        var request = SpawnRequest(executable: try CurrentProcess.executableDirectory() + "/bridge-benchmark")
        request.arguments = arguments
        request.environment = CurrentProcess.sanitizerOptions
        for name in Self.inherited { request.environment[name] = CurrentProcess.environment(name) }
        if let directory { request.environment["TMPDIR"] = directory }
        request.standardOutput = .descriptor(pipe.writing.rawValue)
        request.standardError = .inherit
        if let socket { request.descriptors = [.init(child: 3, parent: socket)] }
        child = try ChildProcess.spawn(request)
        // While this process holds the writing end, reading from the pipe would never end.
        pipe.writing.close()
        output = SystemFile(pipe.reading)
    }

    /// Reads everything that the program prints, until it closes its standard output.
    func text() throws(SystemFileError) -> String {
        var bytes: [UInt8] = []
        while true {
            let more = try output.read(upTo: 1 << 16)
            if more.isEmpty { return String(decoding: bytes, as: UTF8.self) }
            bytes += more
        }
    }

    /// Everything that the program prints, and its exit status; a thread of Dispatch waits for the end.
    func finish() async -> (output: String, status: ExitStatus) {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                // Output that cannot be read is left out, because the exit status says more.
                let output = (try? text()) ?? ""
                continuation.resume(returning: (output, waitForExit()))
            }
        }
    }

    func waitForExit() -> ExitStatus {
        child.waitForExit().status
    }

    /// Ends the program; the processes that it has started end with it.
    func kill() {
        _ = try? child.signalGroup(OperatingSystem.kill)
    }
}

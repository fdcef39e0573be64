#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A spawn by way of `bridge-launcher`: what the launcher is told, and what it tells of how far it came.
///
/// The kernel starts the launcher, and the launcher the program, so that a program which cannot be started would look like one
/// that ended at once. The launcher writes the error into a pipe; that the program has begun shows in the pipe's end, which the
/// launcher's copy comes to by its exec.
struct LaunchedSpawn {
    /// How far a launcher came, as it tells with its error number: two 32-bit numbers.
    private enum Stage {
        static let parent: CInt = 2
        static let program: CInt = 3
    }

    /// A launcher takes a millisecond; one that somebody has stopped must not stop all starts for ever.
    private static let patienceMilliseconds: CInt = 60_000

    private let asked: SpawnRequest
    private let launcher: SpawnRequest.Launcher

    init(_ asked: SpawnRequest, _ launcher: SpawnRequest.Launcher) {
        self.asked = asked
        self.launcher = launcher
    }

    /// Starts the launcher with `spawn`, and returns when it has become the program.
    func start(
        _ spawn: (SpawnRequest) throws(SpawnError) -> ChildProcess
    ) throws(SpawnError) -> ChildProcess {
        let pipe: FileDescriptor.Pipe
        do throws(SystemError) {
            pipe = try FileDescriptor.pipe()
        } catch {
            throw .failed(error)
        }
        let child: ChildProcess
        do throws(SpawnError) {
            child = try spawn(request(status: pipe.writing.rawValue))
        } catch {
            throw explain(error)
        }
        // Open here, it would never come to its end.
        pipe.writing.close()
        let report = read(pipe.reading.rawValue)
        if report.isEmpty { return child }
        if report.count < 2 { _ = try? child.signal(SIGKILL) }
        _ = child.waitForExit()
        throw .failed(error(report))
    }

    private func request(status: CInt) -> SpawnRequest {
        var request = asked
        request.launcher = nil
        request.executable = launcher.path
        request.name = nil
        let free = max(asked.descriptors.map(\.child).max() ?? STDERR_FILENO, STDERR_FILENO) + 1
        request.descriptors.append(.init(child: free, parent: status))
        request.arguments = ["--as", "worker", "--parent", "\(getpid())", "--status", "\(free)"]
        if let guardDescriptor = launcher.guardDescriptor {
            request.descriptors.append(.init(child: free + 1, parent: guardDescriptor))
            request.arguments += ["--guard", "\(free + 1)"]
        }
        request.arguments += ["--program", asked.executable, "--", asked.name ?? asked.executable] + asked.arguments
        return request
    }

    /// The numbers of the report; none if the program has begun, one if nobody knows whether it has.
    private func read(_ descriptor: CInt) -> [CInt] {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard retryingInterrupted({ poll(&entry, 1, Self.patienceMilliseconds) }) > 0 else { return [ETIMEDOUT] }
        return withUnsafeTemporaryAllocation(of: CInt.self, capacity: 2) { numbers in
            // A pipe hands over in one piece what was written in one.
            let count = retryingInterrupted { systemRead(descriptor, UnsafeMutableRawBufferPointer(numbers)) }
            return count == 0 ? [] : count == 2 * MemoryLayout<CInt>.size ? [numbers[0], numbers[1]] : [EIO]
        }
    }

    private func error(_ report: [CInt]) -> SystemError {
        let code = report.last ?? EIO
        switch report.first {
        case Stage.program where report.count == 2: return SystemError(code: code, operation: asked.operation)
        case Stage.parent where report.count == 2:
            return SystemError(code: code, operation: "\(asked.operation), whose parent is another process,")
        default: return SystemError(code: code, operation: "\(asked.operation) through \(launcher.path)")
        }
    }

    /// What the kernel says of the launcher's file is not to be taken for the program's.
    private func explain(_ error: SpawnError) -> SpawnError {
        guard case .failed(let cause) = error, cause.operation == asked.operation,
            [ENOENT, EACCES, ENOEXEC, ENOTDIR, ELOOP, ETXTBSY, EISDIR].contains(cause.code)
        else { return error }
        return .failed(SystemError(code: cause.code, operation: "\(asked.operation) through \(launcher.path)"))
    }
}

extension SpawnRequest {
    /// What an error says was being done.
    var operation: String { "spawn of \(executable)" }
}

private func systemRead(_ descriptor: CInt, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
    read(descriptor, buffer.baseAddress, buffer.count)
}

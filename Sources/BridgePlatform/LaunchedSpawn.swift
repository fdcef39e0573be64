#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A spawn by way of `bridge-launcher`: what the launcher is told, and what it reports of how far it came.
///
/// The kernel starts the launcher, and the launcher starts the program: a program that cannot be started would look
/// like a program that ended at once. So the launcher writes the error into a pipe. The launcher's exec closes the
/// pipe's writing end, so the end of the pipe shows that the program has begun.
struct LaunchedSpawn {
    /// How far a launcher came, except with the box, for which see `SpawnBox.Stage`.
    private enum Stage {
        static let parent: CInt = 2
        static let program: CInt = 3
    }

    /// What a launcher reports in one piece: four 32-bit numbers.
    private struct Report {
        let stage: CInt
        let code: CInt
        let detail: CInt
        /// Whether the program begins all the same, without the part that failed.
        let isLeftOut: Bool
    }

    /// What a read of the pipe finds.
    private enum Found {
        case report(Report)
        /// The program has begun.
        case end
        /// It is not known whether the program has begun.
        case nothing(CInt)
    }

    /// How many milliseconds a launcher may take: it needs one, but a stopped launcher must not hold up all starts for
    /// ever.
    private static let timeoutMilliseconds: CInt = 60_000

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
        // With its writing end open here, the pipe would never come to its end.
        pipe.writing.close()
        var lacks: [String] = []
        while true {
            switch read(pipe.reading.rawValue) {
            case .end:
                child.missingFromBox = lacks
                return child
            case .report(let report) where report.isLeftOut:
                lacks += lack(report).map { [$0] } ?? []
            case .report(let report):
                _ = child.waitForExit()
                throw error(report)
            case .nothing(let code):
                _ = try? child.signal(SIGKILL)
                _ = child.waitForExit()
                throw .failed(launcherError(code))
            }
        }
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
        if let limit = CurrentProcess.descriptorLimitBefore { request.arguments += ["--descriptors", "\(limit)"] }
        if let box = launcher.box { request.arguments += box.arguments }
        request.arguments += ["--program", asked.executable, "--", asked.name ?? asked.executable] + asked.arguments
        return request
    }

    private func read(_ descriptor: CInt) -> Found {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard retryingInterrupted({ poll(&entry, 1, Self.timeoutMilliseconds) }) > 0 else {
            return .nothing(ETIMEDOUT)
        }
        return withUnsafeTemporaryAllocation(of: CInt.self, capacity: 4) { numbers in
            // A pipe hands over in one piece what was written in one.
            let count = retryingInterrupted { systemRead(descriptor, UnsafeMutableRawBufferPointer(numbers)) }
            if count == 0 { return .end }
            guard count == 4 * MemoryLayout<CInt>.size else { return .nothing(EIO) }
            return .report(
                Report(stage: numbers[0], code: numbers[1], detail: numbers[2], isLeftOut: numbers[3] != 0)
            )
        }
    }

    private func lack(_ report: Report) -> String? {
        SpawnBox.Stage(rawValue: report.stage).flatMap {
            launcher.box?.lack($0, code: report.code, detail: report.detail)
        }
    }

    private func error(_ report: Report) -> SpawnError {
        if let stage = SpawnBox.Stage(rawValue: report.stage), let box = launcher.box {
            return box.error(stage, code: report.code, detail: report.detail, operation: asked.operation)
        }
        switch report.stage {
        case Stage.program: return .failed(SystemError(code: report.code, operation: asked.operation))
        case Stage.parent:
            let operation = "\(asked.operation), whose parent is another process,"
            return .failed(SystemError(code: report.code, operation: operation))
        default: return .failed(launcherError(report.code))
        }
    }

    private func launcherError(_ code: CInt) -> SystemError {
        SystemError(code: code, operation: "\(asked.operation) through \(launcher.path)")
    }

    /// Lets an error about the launcher's file say so; otherwise the error would seem to be about the program's file.
    private func explain(_ error: SpawnError) -> SpawnError {
        guard case .failed(let cause) = error, cause.operation == asked.operation,
            [ENOENT, EACCES, ENOEXEC, ENOTDIR, ELOOP, ETXTBSY, EISDIR].contains(cause.code)
        else { return error }
        return .failed(launcherError(cause.code))
    }
}

extension SpawnRequest {
    /// The operation that an error names.
    var operation: String { "spawn of \(executable)" }
}

private func systemRead(_ descriptor: CInt, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
    read(descriptor, buffer.baseAddress, buffer.count)
}

import CBridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What a new process reports before its program begins: an error, or a part of its box that is missing.
///
/// A program that cannot be started would look like a program that ended at once. So the process writes the error into
/// a pipe. The process's exec closes the pipe's writing end, so the end of the pipe shows that the program has begun.
struct SpawnReports {
    /// What a read of the pipe finds.
    private enum Found {
        case report(cbp_spawn_report)
        /// The program has begun.
        case end
        /// It is not known whether the program has begun.
        case nothing(CInt)
    }

    /// How many milliseconds a process may take to begin its program, if it shares no memory with this process.
    ///
    /// On Darwin and under the thread sanitizer, it shares none. A start takes only a few milliseconds, but a stopped
    /// process must not hold up all starts for ever. Elsewhere `cbp_spawn` has waited already.
    private static let timeoutMilliseconds: CInt = 60_000

    let request: SpawnRequest

    /// Returns when the program has begun.
    ///
    /// - Parameter reading: the pipe, whose writing end has been closed in this process.
    func wait(for child: ChildProcess, on reading: CInt) throws(SpawnError) {
        var lacks: [String] = []
        while true {
            switch read(reading) {
            case .end:
                child.missingFromBox = lacks
                return
            case .report(let report) where report.is_left_out != 0:
                lacks += lack(report).map { [$0] } ?? []
            case .report(let report):
                _ = child.waitForExit()
                throw error(report)
            case .nothing(let code):
                _ = try? child.signal(SIGKILL)
                _ = child.waitForExit()
                throw .failed(SystemError(code: code, operation: request.operation))
            }
        }
    }

    private func read(_ descriptor: CInt) -> Found {
        guard waitUntilReady(descriptor, for: POLLIN, milliseconds: Self.timeoutMilliseconds) else {
            return .nothing(ETIMEDOUT)
        }
        var report = cbp_spawn_report()
        // A pipe hands over in one piece what was written in one piece.
        let count = withUnsafeMutableBytes(of: &report) { bytes in
            retryingInterrupted { systemRead(descriptor, bytes) }
        }
        if count == 0 { return .end }
        return count == MemoryLayout<cbp_spawn_report>.size ? .report(report) : .nothing(EIO)
    }

    private func stage(of report: cbp_spawn_report) -> cbp_spawn_stage {
        cbp_spawn_stage(rawValue: UInt32(bitPattern: report.stage))
    }

    private func lack(_ report: cbp_spawn_report) -> String? {
        request.box?.lack(stage(of: report), code: report.error, detail: report.detail)
    }

    private func error(_ report: cbp_spawn_report) -> SpawnError {
        let operation = request.operation
        let stage = stage(of: report)
        if let error = request.box?.error(stage, code: report.error, detail: report.detail, operation: operation) {
            return error
        }
        let part =
            switch stage {
            case cbp_stage_parent: ", whose parent is another process,"
            case cbp_stage_directory: " in the working directory \(request.workingDirectory ?? "")"
            case cbp_stage_descriptor where report.detail < 0: " with a process group of its own"
            case cbp_stage_descriptor: " with the descriptor \(report.detail)"
            default: ""
            }
        return .failed(SystemError(code: report.error, operation: operation + part))
    }
}

extension SpawnRequest {
    /// The operation that an error names.
    var operation: String { isProbe ? "the trial of a box" : "spawn of \(executable)" }
}

private func systemRead(_ descriptor: CInt, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
    read(descriptor, buffer.baseAddress, buffer.count)
}

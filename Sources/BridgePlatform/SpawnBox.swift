import CBridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What a new process may use up and touch: the process closes the box around itself before its program begins, and the
/// box holds for the program and all that it starts.
///
/// On Linux a process in a box gets no new privileges, whatever else is asked for.
package struct SpawnBox: Equatable, Sendable {
    /// A limit of the operating system, by the number that `cbp_box_limit` has for it.
    package enum Limit: Int32, CaseIterable, Sendable {
        /// Bytes of memory that can be written and that no other process shares.
        case memory
        case processorSeconds
        case openFiles
        case processes
        /// Bytes.
        case core
        /// Bytes.
        case fileSize

        fileprivate var name: String {
            switch self {
            case .memory: "memory"
            case .processorSeconds: "processor time"
            case .openFiles: "open files"
            case .processes: "processes"
            case .core: "the size of a core"
            case .fileSize: "the size of a file"
            }
        }
    }

    /// Paths of files, and of directories with all that lies below them.
    package struct Files: Equatable, Sendable {
        package var readOnly: [String]
        package var writable: [String]
        /// What processes in other boxes may write; this box gives no right to it.
        ///
        /// A process in a box can put a link in place of a path below what it may write. So the process of this box
        /// does not start if one of the box's own paths leads over a link that lies below ``writable`` or these paths.
        package var writableElsewhere: [String] = []

        package init(readOnly: [String], writable: [String]) {
            self.readOnly = readOnly
            self.writable = writable
        }
    }

    package var limits: [Limit: Int] = [:]

    /// The permission bits that new files do not get; `nil` for this process's mask.
    package var mask: Int?

    /// The files that can be touched besides those that every program needs; `nil` for all files.
    package var files: Files?

    package var refusesNetwork = false

    /// Whether the process cannot connect to sockets of this machine either; possible only with ``refusesNetwork``.
    package var refusesConnections = false

    /// Whether the process begins even where the system lacks a part of the box.
    package var isBestEffort = false

    package init() {}
}

extension SpawnBox {
    /// The paths of ``files`` in the order in which the C structure has them.
    var paths: [String] { ruled.map(\.path) }

    private var ruled: [(path: String, kind: cbp_box_path_kind)] {
        guard let files else { return [] }
        return files.readOnly.map { ($0, cbp_path_read_only) } + files.writable.map { ($0, cbp_path_writable) }
            + files.writableElsewhere.map { ($0, cbp_path_writable_elsewhere) }
    }

    /// Calls `body` with the box as a C structure, valid during the call.
    ///
    /// - Parameter texts: the ``paths`` as C strings.
    func withC<R>(_ texts: CStringArray, _ body: (UnsafePointer<cbp_box>) -> R) -> R {
        let limits = (0..<Int32(cbp_limit_count.rawValue)).map { number in
            Limit(rawValue: number).flatMap { self.limits[$0] }.map { Int64($0) } ?? -1
        }
        let ruled = ruled.enumerated().compactMap { index, rule in
            texts.pointers[index].map { cbp_box_path(path: $0, kind: rule.kind) }
        }
        return limits.withUnsafeBufferPointer { limits in
            ruled.withUnsafeBufferPointer { ruled in
                guard let limits = limits.baseAddress else { preconditionFailure("there are limits") }
                var box = cbp_box(
                    is_best_effort: isBestEffort,
                    limits: limits,
                    mask: CInt(mask ?? -1),
                    rules_files: files != nil,
                    paths: ruled.baseAddress,
                    path_count: ruled.count,
                    refuses_network: refusesNetwork,
                    refuses_connections: refusesConnections
                )
                return body(&box)
            }
        }
    }

    /// The sentence about a part of the box that the system lacks.
    func lack(_ stage: cbp_spawn_stage, code: CInt, detail: CInt) -> String? {
        let error = SystemError.name(of: code)
        switch stage {
        case cbp_stage_privileges: return "no new privileges: this system does not know how to (\(error))"
        case cbp_stage_files where detail > 0:
            return """
                file-system rules need version 3 of Landlock (Linux 6.2), and this kernel has version \(detail), which lets files be truncated \
                anywhere
                """
        case cbp_stage_files:
            return "file-system rules need Landlock, which this system does not have, or has disabled (\(error))"
        case cbp_stage_network:
            return "taking away the network needs a filter of system calls, which this system does not allow (\(error))"
        case cbp_stage_calls:
            return """
                keeping the process from changing others needs a filter of system calls, which this system does not \
                allow (\(error))
                """
        case cbp_stage_processes:
            return """
                keeping the process away from others needs Landlock, which this system does not have, or has disabled \
                (\(error))
                """
        case cbp_stage_signals:
            return """
                keeping the process's signals in the box needs version 6 of Landlock (Linux 6.12), and this kernel has \
                version \(detail)
                """
        default: return nil
        }
    }

    /// Why the process could not be put into the box; nil if it failed at something else.
    func error(_ stage: cbp_spawn_stage, code: CInt, detail: CInt, operation: String) -> SpawnError? {
        let isLimit = stage == cbp_stage_limit
        let isPath = stage == cbp_stage_path || stage == cbp_stage_link
        let lack = lack(stage, code: code, detail: detail)
        guard isLimit || isPath || lack != nil else { return nil }
        // A shortage passes: it says nothing of what this system can do.
        if [EMFILE, ENFILE, ENOMEM].contains(code) {
            return .failed(SystemError(code: code, operation: "\(operation) in its box"))
        }
        if isLimit {
            let name = Limit(rawValue: detail)?.name ?? "a resource"
            return .failed(SystemError(code: code, operation: "\(operation) with a limit of \(name)"))
        }
        if isPath {
            let path = paths.indices.contains(Int(detail)) ? paths[Int(detail)] : "a path"
            let way = stage == cbp_stage_link ? " by way of a link in a directory that a worker may write" : ""
            return .failed(SystemError(code: code, operation: "\(operation), whose box gives it \(path)\(way),"))
        }
        return .boxUnavailable(lack ?? "")
    }
}

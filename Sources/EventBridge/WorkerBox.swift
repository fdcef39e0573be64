import BridgePlatform
import Supervision

/// What a worker may use up and touch: limits of the operating system, files, and network.
///
/// ```swift
/// WorkerBox(memory: 512 << 20, openFiles: 256, files: .init(readOnly: ["/srv/maps"], writable: ["/srv/tiles"]), allowsNetwork: false)
/// ```
///
/// The worker's process closes the box around itself before the worker's program begins. The box also holds for all
/// that the program starts, and nothing opens it again. In any box a process gets no new privileges: a set-user-ID
/// program that it starts has only the rights of that process. So `sudo` does not work.
///
/// In a box with ``files`` or without network, a process also cannot reach into processes outside.
/// It cannot trace a process outside, read its memory or environment, or set its limits, nice value, scheduler or
/// affinity. From Linux 6.12 on it cannot send signals to a process outside either; on older systems it can, and
/// ``WorkerBoxIncomplete`` says so. The box refuses keys, System V IPC, POSIX queues, user namespaces, and programs of
/// another architecture. A thread in the box can set only its own scheduling, and only if it names itself by the number
/// 0: the box refuses all other numbers. Of the superuser's capabilities, those about files and users are left, and
/// four more, which concern signals, low ports, locked memory and `chroot`. `docs/reference/security.md` has the table.
///
/// Workers in memory, as the test kit makes them, have no process and no box.
public struct WorkerBox: Sendable, Hashable {
    /// Which files a worker can touch, on Linux 6.2 and later with Landlock enabled; access to all others fails with
    /// EACCES.
    ///
    /// A path stands for a file, or for a directory with all that lies below it. It must exist when the worker is
    /// started; a relative path counts from the worker's working directory.
    ///
    /// A start fails if a path leads over a link in a directory that the box of a worker of this host makes writable.
    /// Such a link may be a worker's attempt to open another place to its next start.
    ///
    /// The worker can always read its program, `/usr`, `/bin`, `/sbin`, `/lib`, `/lib32`, `/lib64`, the directories of
    /// the host's Swift runtime, the loader's list of libraries, `/etc/localtime`, `/proc`, `/sys/devices/system/cpu`,
    /// `/dev/zero`, `/dev/random` and `/dev/urandom`. It can also read and write `/dev/null` and `/dev/full`. About a
    /// process outside the box, `/proc` shows only what any user sees. A script's interpreter, and libraries beside a
    /// program, must be among ``readOnly``.
    ///
    /// Despite these rules a worker can ask whether a file exists, how large it is and whose it is. It can change a
    /// file's mode, owner or times where the user may, and connect to a socket in the file system.
    public struct Files: Sendable, Hashable {
        /// The paths that can be read, listed and executed.
        public var readOnly: [String]

        /// The paths that can be read, listed, written, made and removed; a path can be executed only if it is among
        /// ``readOnly`` as well.
        public var writable: [String]

        /// Makes rules; without paths a worker can touch only what every program needs.
        public init(readOnly: [String] = [], writable: [String] = []) {
            self.readOnly = readOnly
            self.writable = writable
        }
    }

    /// How much memory of its own the process may have, in bytes (RLIMIT_DATA); nil for any amount.
    ///
    /// The limit counts memory that can be written and is shared with no other process, used or not: the heap, and 8
    /// MiB for the stack of each thread. A Swift program wants 64 MiB to begin with. The limit does not count shared
    /// memory, such as the outbox, nor memory that is only reserved.
    ///
    /// A Swift program that gets no memory ends by a signal, and no signal names memory as the cause.
    /// ``WorkerExited/reason`` names memory if the worker failed by itself with a peak in RAM of at least three
    /// quarters of this limit. The peak must also be clearly above the supervisor's peak at the worker's start.
    public var memory: Int?

    /// How much processor time the process may use, in whole seconds (RLIMIT_CPU); nil for any amount.
    ///
    /// Beyond this time the system kills the process by SIGXCPU, and two seconds later by SIGKILL if the process
    /// handles SIGXCPU. Each process that the worker starts has as much time of its own.
    public var processorTime: Duration?

    /// How many descriptors the process may have open (RLIMIT_NOFILE); nil for as many as the supervisor may have.
    ///
    /// Beyond this limit, opening a file fails with EMFILE; the worker has to report that.
    public var openFiles: Int?

    /// How many processes and threads the user may have when this process starts another (RLIMIT_NPROC); nil for as
    /// many as the supervisor's limit.
    ///
    /// The system counts all processes of the user, whatever has started them: use this where workers have a user of
    /// their own. Beyond this limit a start fails with EAGAIN, except for the superuser; the worker has to report that.
    public var processes: Int?

    /// How large a core the process may leave, in bytes (RLIMIT_CORE); 0 for none, nil for the supervisor's limit.
    ///
    /// Where the system gives cores to a program, such as `systemd-coredump`, that program decides.
    public var core: Int?

    /// How large a file the process may write, in bytes (RLIMIT_FSIZE); nil for any size.
    ///
    /// Beyond this size the system sends SIGXFSZ, which kills a process that does not handle it.
    public var fileSize: Int?

    /// Which files the worker can touch; nil for all that its user may.
    public var files: Files?

    /// Whether the worker can reach a network, even that of its own machine; if not, it can only make AF_UNIX sockets.
    ///
    /// A filter of system calls refuses other sockets with EAFNOSUPPORT, on Linux for x86-64, ARM64 and RISC-V.
    /// Without network, programs of another architecture do not run, and neither does `io_uring`, which would get
    /// around the filter.
    public var allowsNetwork: Bool

    /// Whether a worker without network can connect to sockets of this machine: to a database, the system's log, a
    /// control socket.
    ///
    /// The filter of ``allowsNetwork`` refuses connections with EACCES. The filter sees no addresses, so it refuses all
    /// connections or none. The worker can still send a datagram without connecting, to any socket that its user may
    /// write to. For a worker with network this has no effect.
    public var allowsConnections: Bool

    /// The permission bits that new files do not get, 0 to 0o777; nil for the supervisor's umask.
    public var umask: Int?

    /// Whether the worker is started even if the system lacks what its box needs.
    ///
    /// ``WorkerBoxIncomplete`` then says what is missing. With false, the default, the start is refused for good.
    /// The rule against signals is an exception: without it the worker is started in either case.
    public var isBestEffort: Bool

    /// Makes a box; without arguments it only keeps the worker from getting new privileges.
    public init(
        memory: Int? = nil,
        processorTime: Duration? = nil,
        openFiles: Int? = nil,
        processes: Int? = nil,
        core: Int? = nil,
        fileSize: Int? = nil,
        files: Files? = nil,
        allowsNetwork: Bool = true,
        allowsConnections: Bool = false,
        umask: Int? = nil,
        isBestEffort: Bool = false
    ) {
        self.memory = memory
        self.processorTime = processorTime
        self.openFiles = openFiles
        self.processes = processes
        self.core = core
        self.fileSize = fileSize
        self.files = files
        self.allowsNetwork = allowsNetwork
        self.allowsConnections = allowsConnections
        self.umask = umask
        self.isBestEffort = isBestEffort
    }
}

extension WorkerBox {
    /// The least memory, in bytes: the bridge's own threads have no room in less.
    private static let leastMemory = 16 << 20

    /// The least number of open files: a worker needs that many to complete its handshake.
    private static let leastOpenFiles = 16

    /// The greatest size, in bytes: far beyond any machine, and far from overflow.
    private static let greatestSize = 1 << 50

    func validate() -> [String] {
        var mistakes: [String] = []
        if let memory, !(Self.leastMemory...Self.greatestSize).contains(memory) {
            mistakes.append("its box: the memory is limited to \(memory) bytes; 16 MiB to 1 PiB are possible")
        }
        if let processorTime { mistakes += Self.mistakes(ofProcessorTime: processorTime) }
        if let openFiles, !(Self.leastOpenFiles...1 << 20).contains(openFiles) {
            mistakes.append("its box: the open files are limited to \(openFiles); 16 to 1048576 are possible")
        }
        if let processes, !(1...1 << 22).contains(processes) {
            mistakes.append("its box: the processes are limited to \(processes); 1 to 4194304 are possible")
        }
        for (what, size) in [("a core", core), ("a file", fileSize)] {
            if let size, !(0...Self.greatestSize).contains(size) {
                mistakes.append("its box: the size of \(what) is limited to \(size) bytes; 0 to 1 PiB are possible")
            }
        }
        if let umask, !(0...0o777).contains(umask) {
            mistakes.append("its box: the umask is \(umask); 0 to 0o777 (511) are possible")
        }
        for path in (files?.readOnly ?? []) + (files?.writable ?? []) {
            if path.isEmpty { mistakes.append("its box: a path is empty") }
            if path.utf8.contains(0) { mistakes.append("its box: a path contains a NUL character") }
        }
        return mistakes
    }

    private static func mistakes(ofProcessorTime time: Duration) -> [String] {
        let found = time.mistakes(as: "the processor time", mayBeZero: false)
        if !found.isEmpty { return found.map { "its box: \($0)" } }
        if time.components.attoseconds == 0 { return [] }
        return ["its box: the processor time is \(time.text); it has to be whole seconds"]
    }

    var spawnBox: SpawnBox {
        var box = SpawnBox()
        box.limits[.memory] = memory
        box.limits[.processorSeconds] = processorTime.map { Int($0.components.seconds) }
        box.limits[.openFiles] = openFiles
        box.limits[.processes] = processes
        box.limits[.core] = core
        box.limits[.fileSize] = fileSize
        box.mask = umask
        box.files = files.map { SpawnBox.Files(readOnly: $0.readOnly, writable: $0.writable) }
        box.refusesNetwork = !allowsNetwork
        box.refusesConnections = !allowsNetwork && !allowsConnections
        box.isBestEffort = isBestEffort
        return box
    }

    /// The box of a process that starts in `directory`, with absolute paths.
    ///
    /// A worker that may write to the parent of its working directory could replace that directory by a link. A
    /// relative path would then count from the link's target. So relative paths become absolute here: in an absolute
    /// path the box follows no such link.
    ///
    /// - Parameter others: the absolute paths that the boxes of the host's workers make writable.
    func spawnBox(in directory: String?, besides others: [String]) -> SpawnBox {
        var box = spawnBox
        guard let files else { return box }
        let place = WorkingDirectory(directory)
        var ruled = SpawnBox.Files(
            readOnly: files.readOnly.map(place.absolute),
            writable: files.writable.map(place.absolute)
        )
        ruled.writableElsewhere = others
        box.files = ruled
        return box
    }

    /// The absolute paths that this box makes writable for a process that starts in `directory`.
    func writablePaths(in directory: String?) -> [String] {
        (files?.writable ?? []).map(WorkingDirectory(directory).absolute)
    }

    /// The directory from which a worker's relative paths count; nil for this process's directory.
    private struct WorkingDirectory {
        private let path: String?

        init(_ directory: String?) {
            let own = OperatingSystem.workingDirectory
            path = directory.map { Self.join(own, $0) } ?? own
        }

        func absolute(_ path: String) -> String { Self.join(self.path, path) }

        /// The path itself if it is absolute, or if the directory is not known.
        private static func join(_ directory: String?, _ path: String) -> String {
            guard let directory, !path.hasPrefix("/") else { return path }
            return "\(directory)/\(path)"
        }
    }

    /// The parts that the box lacks on this system, a sentence for each.
    ///
    /// To find out, this closes a box around a process that ends at once, and blocks for that time.
    ///
    /// - Throws: A `SpawnError` if no process can be started.
    package func missingHere() throws -> [String] {
        var box = spawnBox
        // The question is whether a box can be closed at all, not whether a path is there or a limit can be set.
        box.limits = [:]
        if files != nil { box.files = SpawnBox.Files(readOnly: [], writable: []) }
        box.isBestEffort = true
        let child = try ChildProcess.spawn(SpawnRequest(probing: box))
        _ = child.waitForExit()
        return child.missingFromBox
    }

    /// Adds the limit of this box that a process had reached to the reason for its end, if the reason names no limit.
    func explanation(of reason: ExitReason, _ usage: ResourceUsage?) -> ExitReason {
        // If the program itself has blamed its configuration, no limit is the reason.
        guard let usage, reason.exceededLimit == nil, !reason.isNormal, !reason.isWrongConfiguration else {
            return reason
        }
        switch reason {
        case .exited, .signaled: break
        default: return reason
        }
        // A process that handles SIGXCPU is killed by SIGKILL, which names no limit.
        if let processorTime, reason.signalName == "SIGKILL", usage.userTime + usage.systemTime >= processorTime {
            return .atLimit(.processorTime, of: processorTime.text, reason)
        }
        if let memory, let peak = usage.peakMemory, peak >= memory / 4 * 3 {
            return .atLimit(.memory, of: Self.text(bytes: memory), reason)
        }
        return reason
    }

    private static func text(bytes: Int) -> String {
        for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] where bytes & ((1 << shift) - 1) == 0 {
            return "\(bytes >> shift) \(unit)"
        }
        return "\(bytes) bytes"
    }
}

import BridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Tries an act that a box may forbid a worker, and returns the result: `done`, or the name of the error.
enum Reach {
    /// - Parameter text: `read PATH`, `write PATH`, `grow PATH`, `connect`, `socketpair`, `open-files`,
    ///   `start-process`, `signal-parent` or `shell SCRIPT`.
    static func attempt(_ text: String) -> String {
        let words = text.split(separator: " ", maxSplits: 1).map(String.init)
        switch (words.first, words.last) {
        case ("read", let path?): return openAndClose(path, O_RDONLY)
        case ("write", let path?): return openAndClose(path, O_WRONLY | O_CREAT)
        case ("grow", let path?): return grow(path)
        case ("connect", _): return connectToOwnMachine()
        case ("socketpair", _): return makeSocketPair()
        case ("open-files", _): return openFiles()
        case ("start-process", _): return startProcess()
        case ("shell", let script?): return run(script)
        case ("signal-parent", _): return outcome(kill(getppid(), 0))
        default: return "there is no way to \(text)"
        }
    }

    private static func outcome(_ result: CInt) -> String {
        if result >= 0 { return "done" }
        return name(of: errno)
    }

    private static func name(of code: CInt) -> String {
        switch code {
        case EACCES: "EACCES"
        case EPERM: "EPERM"
        case EMFILE: "EMFILE"
        case EAGAIN: "EAGAIN"
        case ECONNREFUSED: "ECONNREFUSED"
        case EAFNOSUPPORT: "EAFNOSUPPORT"
        default: "errno \(code)"
        }
    }

    private static func openAndClose(_ path: String, _ flags: CInt) -> String {
        let descriptor = open(path, flags | O_CLOEXEC, 0o666)
        let result = outcome(descriptor)
        if descriptor >= 0 { close(descriptor) }
        return result
    }

    /// Makes a file of 16 MiB, unless the system allows less.
    private static func grow(_ path: String) -> String {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { return outcome(descriptor) }
        defer { close(descriptor) }
        let piece = [UInt8](repeating: 1, count: 64 << 10)
        for _ in 0..<256 where write(descriptor, piece, piece.count) < 0 { return outcome(-1) }
        return "done"
    }

    /// Connects to a port where no process listens: a worker that is refused there has a network.
    private static func connectToOwnMachine() -> String {
        // 1 is SOCK_STREAM on all systems; the type of that constant differs between systems.
        let descriptor = socket(AF_INET, 1, 0)
        guard descriptor >= 0 else { return outcome(descriptor) }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(1).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return outcome(result)
    }

    private static func makeSocketPair() -> String {
        guard let pair = try? UnixSocket.pair() else { return "no pair" }
        withExtendedLifetime(pair) {}
        return "done"
    }

    /// Opens as many files as it can, and closes them again.
    private static func openFiles() -> String {
        var opened: [CInt] = []
        defer { for descriptor in opened { close(descriptor) } }
        while opened.count < 1 << 16 {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            if descriptor < 0 { return outcome(descriptor) }
            opened.append(descriptor)
        }
        return "done"
    }

    private static func startProcess() -> String {
        outcome(of: SpawnRequest(executable: "/bin/true"))
    }

    private static func run(_ script: String) -> String {
        var request = SpawnRequest(executable: "/bin/sh")
        request.arguments = ["-c", script]
        request.environment = ["PATH": "/usr/bin:/bin"]
        if let mark = CurrentProcess.environment("EVENT_BRIDGE_WORKER") {
            request.environment["EVENT_BRIDGE_WORKER"] = mark
        }
        return outcome(of: request)
    }

    /// - Returns: `done`, or the status with which the process has ended.
    private static func outcome(of request: SpawnRequest) -> String {
        do {
            let status = try ChildProcess.spawn(request).waitForExit().status
            return status == .exited(code: 0) ? "done" : "\(status)"
        } catch {
            return error.code.map(name) ?? "\(error)"
        }
    }

    /// Takes memory without end, and uses each page of it.
    static func allocate() -> Never {
        var pieces: [[UInt8]] = []
        while true { pieces.append([UInt8](repeating: 1, count: 1 << 20)) }
    }
}

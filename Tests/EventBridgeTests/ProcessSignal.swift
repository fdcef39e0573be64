import FoundationEssentials

// The C library's `kill`: tests signal workers behind the bridge's back.
#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Signals from outside.
enum ProcessSignal {
    static func kill(_ pid: Int32) -> Bool { send(pid, SIGKILL) }

    static func terminate(_ pid: Int32) -> Bool { send(pid, SIGTERM) }

    /// Sets whether SIGTERM is ignored in this process while nothing catches it.
    static func ignoreTermination(_ isIgnored: Bool) { signal(SIGTERM, isIgnored ? SIG_IGN : SIG_DFL) }

    static func stop(_ pid: Int32) -> Bool { send(pid, SIGSTOP) }

    /// Lets a process that stands still go on.
    static func goOn(_ pid: Int32) -> Bool { send(pid, SIGCONT) }

    /// Returns when each thread of the process stands still: until a thread has seen the signal, it goes on reading.
    static func stopEntirely(_ pid: Int32) async throws -> Bool {
        guard stop(pid) else { return false }
        while try !threadStates(of: pid).allSatisfy({ $0 == "T" }) { await Task.yield() }
        return true
    }

    private static func threadStates(of pid: Int32) throws -> [Character] {
        let threads = "/proc/\(pid)/task"
        return try FileManager.default.contentsOfDirectory(atPath: threads).compactMap { thread in
            // A thread that has ended meanwhile has no state. The name in brackets may have any characters.
            let status = try? String(contentsOfFile: "\(threads)/\(thread)/stat", encoding: .utf8)
            return status.flatMap { $0[($0.lastIndex(of: ")") ?? $0.startIndex)...].dropFirst(2).first }
        }
    }

    static func isAlive(_ pid: Int32) -> Bool { send(pid, 0) }

    /// Whether the process still runs, and is not a zombie.
    static func isRunning(_ pid: Int32) -> Bool {
        guard isAlive(pid) else { return false }
        let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        let state = status.flatMap { $0[($0.lastIndex(of: ")") ?? $0.startIndex)...].dropFirst(2).first }
        return state != nil && state != "Z" && state != "X"
    }

    private static func send(_ pid: Int32, _ signal: Int32) -> Bool {
        #if canImport(Glibc)
        Glibc.kill(pid, signal) == 0
        #else
        Darwin.kill(pid, signal) == 0
        #endif
    }
}

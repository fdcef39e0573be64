// The C library's `kill`: tests signal workers behind the bridge's back.
#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Signals from outside.
enum ProcessSignal {
    static func kill(_ pid: Int32) -> Bool { send(pid, SIGKILL) }

    static func stop(_ pid: Int32) -> Bool { send(pid, SIGSTOP) }

    static func isAlive(_ pid: Int32) -> Bool { send(pid, 0) }

    private static func send(_ pid: Int32, _ signal: Int32) -> Bool {
        #if canImport(Glibc)
        Glibc.kill(pid, signal) == 0
        #else
        Darwin.kill(pid, signal) == 0
        #endif
    }
}

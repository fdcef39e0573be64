#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Whether a debugger, or another tracer, holds a process, which may then stand still for any length of time.
package enum ProcessTracing {
    /// Whether the process is traced, as far as the system says.
    package static func isTraced(_ process: Int32) -> Bool {
        #if os(Linux)
        guard let file = try? SystemFile.open(reading: "/proc/\(process)/status"),
            // The beginning of the file is enough: the line is among the first ten.
            let bytes = try? file.read(upTo: 4_096)
        else { return false }
        return tracer(in: bytes) != 0
        #elseif canImport(Darwin)
        var information = kinfo_proc()
        var size = MemoryLayout<kinfo_proc>.stride
        var name = [CTL_KERN, KERN_PROC, KERN_PROC_PID, process]
        guard sysctl(&name, UInt32(name.count), &information, &size, nil, 0) == 0, size > 0 else { return false }
        return information.kp_proc.p_flag & P_TRACED != 0
        #else
        return false
        #endif
    }

    /// The process id in the line `TracerPid:` of a process's status; 0 if there is none.
    package static func tracer(in status: [UInt8]) -> Int32 {
        for line in status.split(separator: UInt8(ascii: "\n")) {
            let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1)
            guard parts.count == 2, parts[0].elementsEqual("TracerPid".utf8) else { continue }
            let digits = parts[1].drop { $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: " ") }
            return Int32(String(decoding: digits, as: UTF8.self)) ?? 0
        }
        return 0
    }
}

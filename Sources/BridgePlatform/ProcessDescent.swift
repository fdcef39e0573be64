import CBridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Finds whose child a process is, as far as the system says.
package enum ProcessDescent {
    /// The most processes in a line of descent; a longer line most likely has numbers reused during the search.
    private static let longest = 64

    /// The process, its parent, the parent's parent, and so on up to the first process of the system.
    ///
    /// A process whose parent has ended is the child of another process, which the system has chosen.
    package static func line(of process: Int32) -> [Int32] {
        var line: [Int32] = []
        var next = process
        while next > 0, line.count < longest, !line.contains(next) {
            line.append(next)
            next = cbp_process_parent(next)
        }
        return line
    }

    /// The process group that a process is in; nil if there is no such process.
    package static func group(of process: Int32) -> Int32? {
        let group = getpgid(process)
        return group > 0 ? group : nil
    }

    /// Whether there is no such process any more, and its parent has heard of its end.
    ///
    /// Only one errno says so: a living process has the group 0 if its group's leader is in another PID namespace, and
    /// a system may forbid the look.
    package static func hasEnded(_ process: Int32) -> Bool { getpgid(process) < 0 && errno == ESRCH }
}

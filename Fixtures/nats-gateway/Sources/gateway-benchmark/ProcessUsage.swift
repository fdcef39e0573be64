import Foundation

/// What the kernel says about a process.
struct ProcessUsage {
    /// Processor time of all its threads, in microseconds.
    let microseconds: Double
    /// Memory that it has now and shares with no other process or file, in MiB.
    let own: Double
    /// All memory that it has now, and the most that it has had, with the pages of libraries, in MiB.
    let resident: Double
    let peak: Double

    /// - Returns: Nil if there is no such process.
    init?(of process: pid_t) {
        guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
            let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        else { return nil }
        func mebibytes(_ key: String) -> Double {
            let line = status.split(separator: "\n").first { $0.hasPrefix("\(key):") }
            return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first).flatMap { Double($0) }.map {
                $0 / 1_024
            }
                ?? 0
        }
        own = mebibytes("RssAnon")
        resident = mebibytes("VmRSS")
        peak = mebibytes("VmHWM")
        // Behind the name, which may have spaces, user and system time are the 12th and 13th field.
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ").dropFirst()
        let ticks = fields.dropFirst(11).prefix(2).compactMap { Double($0) }.reduce(0, +)
        microseconds = ticks * 1_000_000 / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}

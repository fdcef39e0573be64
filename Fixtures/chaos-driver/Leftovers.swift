import BridgePlatform
import FoundationEssentials

/// Finds what a run has left behind in the system; it must be nothing.
enum Leftovers {
    /// Children of this process that have ended and were not collected, and those that still run.
    static func children() -> (zombies: Int, running: Int) {
        let own = CurrentProcess.identifier
        var zombies = 0
        var running = 0
        for process in processes() {
            // After the name, which may have spaces and brackets, come state and parent.
            guard let text = contents("/proc/\(process)/stat"), let end = text.lastIndex(of: ")") else { continue }
            let fields = text[text.index(after: end)...].split(separator: " ")
            guard fields.count > 1, Int32(fields[1]) == own else { continue }
            if fields[0] == "Z" { zombies += 1 } else { running += 1 }
        }
        return (zombies, running)
    }

    /// The number of processes of this run, with any parent.
    static func orphans(folder: String) -> Int {
        let own = CurrentProcess.identifier
        return processes().count { process in
            process != own
                && contents("/proc/\(process)/cmdline")?.split(separator: "\0").contains { $0 == folder } == true
        }
    }

    private static func processes() -> [Int32] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { Int32($0) }
    }

    private static func contents(_ path: String) -> String? {
        try? String(contentsOfFile: path, encoding: .utf8)
    }

    /// The kinds of open descriptors of this process, each with its count.
    static func descriptors() -> String {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        let kinds = names.compactMap { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name))?
                .prefix { $0 != "(" }
        }
        return Dictionary(grouping: kinds) { $0 }.map { "\($0.value.count) \($0.key)" }.sorted().joined(separator: ", ")
    }

    /// How many kilobytes of private memory this process has, without shared files.
    static func anonymousKilobytes() -> Int? {
        for line in (contents("/proc/self/smaps_rollup") ?? "").split(separator: "\n")
        where line.hasPrefix("Anonymous:") {
            return line.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        }
        return nil
    }

    /// How many ledgers the checker has not read to their end.
    static func ledgers(in folder: String) -> Int {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).count { $0.hasPrefix("handled") }
    }
}

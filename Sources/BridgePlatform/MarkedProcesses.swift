import CBridgePlatform

#if canImport(Glibc)
package import Glibc
#elseif canImport(Darwin)
package import Darwin
#endif

/// Finds processes by a mark in the environment that they were started with, and kills them.
///
/// A process that becomes a daemon leaves its process group, is no child of the bridge's processes any more, and is in
/// none of their lists. But it has the environment of the process that has started it, unless a program changed that on
/// purpose. Only processes whose environment this user may read are found, and only on Linux, where /proc shows it.
package enum MarkedProcesses {
    /// A mark of all processes that one bridge starts; each worker's value adds a number of its own.
    package struct Mark: Sendable, Equatable {
        package static let variable = "EVENT_BRIDGE_WORKER"

        private let text: String

        /// A mark that no other bridge has.
        package init() {
            let digits = String(randomUInt64(), radix: 16)
            text = String(repeating: "0", count: 16 - digits.count) + digits
        }

        /// The variable's value for one worker.
        package func value(_ number: UInt64) -> String { "\(text).\(number)" }

        /// Whether a value belongs to this mark.
        package func isOn(_ value: String) -> Bool { value.hasPrefix("\(text).") }

        /// The variable's name and the beginning of its value, which all workers share.
        var beginning: String { "\(Self.variable)=\(text)." }
    }

    /// A process that was found, and killed.
    package struct Found: Sendable, Equatable {
        package let processIdentifier: pid_t
        /// The program and the arguments that the process was started with.
        package let command: String
    }

    /// How many bytes of a command are kept: as much as a person wants to read.
    private static let longestCommand = 200

    /// The most rounds of a search: a process that is born while others are being killed is found in the next round.
    private static let mostRounds = 10

    /// Kills all processes that bear one of these values and are outside the process group given for that value.
    ///
    /// - Parameter groups: the process group of each value's first bearer; other code kills that group.
    /// - Returns: The processes that were killed, by value.
    package static func kill(outside groups: [String: pid_t]) -> [String: [Found]] {
        var all: [String: [Found]] = [:]
        for _ in 0..<mostRounds {
            let found = killOnce(groups)
            for (value, found) in found {
                let known = Set(all[value, default: []].map(\.processIdentifier))
                all[value, default: []] += found.filter { !known.contains($0.processIdentifier) }
            }
            if found.isEmpty { break }
        }
        return all
    }

    private static func killOnce(_ groups: [String: pid_t]) -> [String: [Found]] {
        var found: [String: [Found]] = [:]
        for process in processes() {
            guard let value = mark(of: process), let group = groups[value], getpgid(process) != group else { continue }
            let command = command(of: process)
            let number = cbp_process_open(process)
            guard number >= 0 else { continue }
            let handle = FileDescriptor(owning: number)
            // Checks once more: the number may have been given to another process before the handle was opened.
            guard mark(of: process) == value else { continue }
            guard cbp_process_signal(handle.rawValue, process, SIGKILL) == 0 else { continue }
            found[value, default: []].append(Found(processIdentifier: process, command: command))
        }
        return found
    }

    private static func processes() -> [pid_t] {
        guard let directory = opendir("/proc") else { return [] }
        defer { closedir(directory) }
        let own = getpid()
        var numbers: [pid_t] = []
        while let entry = readdir(directory) {
            let number = withUnsafeBytes(of: &entry.pointee.d_name) { name in
                pid_t(String(decoding: name.prefix { $0 != 0 }, as: UTF8.self))
            }
            if let number, number != own { numbers.append(number) }
        }
        return numbers
    }

    /// The value that a process bears; nil if it bears none, or has ended, or this user may not read its environment.
    package static func mark(of process: pid_t) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { value in
            guard let start = value.baseAddress else { return nil }
            let length = cbp_process_variable(process, "\(Mark.variable)=", start, value.count)
            if length < 0 { return nil }
            return String(decoding: UnsafeRawBufferPointer(start: start, count: length), as: UTF8.self)
        }
    }

    private static func command(of process: pid_t) -> String {
        let number = open("/proc/\(process)/cmdline", O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return "" }
        let file = FileDescriptor(owning: number)
        return withUnsafeTemporaryAllocation(byteCount: longestCommand, alignment: 1) { buffer in
            let count = retryingInterrupted { read(file.rawValue, buffer.baseAddress, buffer.count) }
            guard count > 0 else { return "" }
            let words = buffer[..<count].split(separator: 0)
            return words.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
        }
    }
}

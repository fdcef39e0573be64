import CBridgePlatform
import Locks
import Synchronization

#if canImport(Glibc)
package import Glibc
#elseif canImport(Darwin)
package import Darwin
#endif

/// This process: its user, what it was given, what it uses, how it ends.
package enum CurrentProcess {
    package static var identifier: pid_t { getpid() }

    package static var parentIdentifier: pid_t { getppid() }

    /// The user whose rights this process has.
    package static var user: UInt32 { geteuid() }

    /// The value of an environment variable.
    ///
    /// Do not call this while another thread changes the environment.
    package static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// The sanitizers' variables in this process's environment, for a child that does not inherit this environment.
    ///
    /// Without these variables a race ends no process, and a process that exits waits a second or looks for leaks.
    package static var sanitizerOptions: [String: String] {
        var options: [String: String] = [:]
        for name in ["ASAN_OPTIONS", "TSAN_OPTIONS"] { options[name] = environment(name) }
        return options
    }

    /// Removes a variable, so that programs started by other code of this process do not get it.
    ///
    /// Do not call this while another thread reads the environment: at the beginning of `main` no other thread runs.
    package static func unsetEnvironment(_ name: String) {
        unsetenv(name)
    }

    /// The directory of the running program's file.
    package static func executableDirectory() throws(SystemError) -> String {
        let path = try withUnsafeTemporaryAllocation(
            of: CChar.self,
            capacity: Int(PATH_MAX)
        ) { buffer throws(SystemError) in
            guard let start = buffer.baseAddress else { return "" }
            let length = try SystemError.check("finding the path of this program") {
                cbp_executable_path(start, buffer.count)
            }
            return String(decoding: UnsafeRawBufferPointer(start: start, count: length), as: UTF8.self)
        }
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Ends the process at once: nothing is flushed, no exit handler runs.
    package static func exitImmediately(_ code: CInt) -> Never {
        _exit(code)
    }

    /// Stops all threads of this process, as SIGSTOP from elsewhere does, until it is continued.
    package static func stop() {
        raise(SIGSTOP)
    }

    /// The most memory that this process has had at once, in bytes.
    package static func peakResidentBytes() -> Int {
        var usage = rusage()
        #if os(Linux)
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        // In KiB: getrusage(2).
        return usage.ru_maxrss * 1_024
        #else
        getrusage(RUSAGE_SELF, &usage)
        return usage.ru_maxrss
        #endif
    }

    /// The peak memory, in bytes, that a new child may inherit from this process.
    ///
    /// A child shares this process's memory until its program begins; Linux keeps that peak (exec_mmap in fs/exec.c).
    static func peakLeftToChildren() -> Int {
        #if os(Linux)
        peakResidentBytes()
        #else
        0
        #endif
    }

    /// How much memory of this process lies in RAM now, in bytes; nil where the system does not say.
    package static func residentBytes() -> Int? { OperatingSystem.residentBytes(of: identifier) }

    /// Lets the C library give freed memory beyond a mebibyte back to the system, in each of its arenas.
    ///
    /// Otherwise glibc lets each arena keep twice the size of the largest mapped block that the process has freed, up
    /// to 64 MiB. A process that once got large events then stays large (`mallopt(3)`, M_MMAP_THRESHOLD).
    /// Call this at the beginning of `main`, never in a library.
    package static func keepLittleFreeMemory() { cbp_heap_limit(1 << 20) }

    /// Raises the soft limit of open descriptors (RLIMIT_NOFILE) to the hard one.
    ///
    /// Each worker takes six descriptors, and the usual soft limit is 1,024. A program that `ChildProcess` starts gets
    /// the former limit, unless its box has one. Some programs rely on a low limit (`select(2)`), or close every
    /// descriptor below the limit.
    /// Call this at the beginning of `main`, never in a library.
    package static func raiseDescriptorLimit() {
        let before = cbp_raise_descriptor_limit()
        if before >= 0 { softDescriptorLimit.store(Int(before), ordering: .releasing) }
    }

    /// The soft limit of open descriptors before it was raised; nil if it was not raised.
    static var descriptorLimitBefore: Int? {
        let limit = softDescriptorLimit.load(ordering: .acquiring)
        return limit < 0 ? nil : limit
    }

    private static let softDescriptorLimit = Atomic<Int>(-1)

    /// How many bytes of the heap are in use; nil where they are not counted, as under a sanitizer.
    package static func heapBytesInUse() -> Int? {
        let count = cbp_heap_bytes_in_use()
        return count > 0 ? Int(clamping: count) : nil
    }

    /// How many descriptors this process has open, timers left out.
    ///
    /// Dispatch opens a timer for each clock when code first sleeps by that clock, and keeps the timer open. On Linux
    /// each ``Poller`` has a timer as well, beside two descriptors that are counted.
    package static func openDescriptorCount() throws(SystemError) -> Int {
        try openDescriptors().count { !isTimer($0) }
    }

    private static func isTimer(_ descriptor: CInt) -> Bool {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let start = buffer.baseAddress else { return false }
            // Only Linux has this list, and these timers.
            let length = readlink("/proc/self/fd/\(descriptor)", start, buffer.count)
            let target = buffer.prefix(max(0, length)).map { UInt8(bitPattern: $0) }
            return String(decoding: target, as: UTF8.self).hasSuffix("[timerfd]")
        }
    }

    /// The numbers of all open descriptors, in ascending order.
    package static func openDescriptors() throws(SystemError) -> [CInt] {
        let path = "/dev/fd"
        guard let directory = opendir(path) else { throw SystemError.current("listing \(path)") }
        defer { closedir(directory) }
        let own = dirfd(directory)
        var numbers: [CInt] = []
        while let entry = readdir(directory) {
            let number = withUnsafeBytes(of: &entry.pointee.d_name) { name in
                CInt(String(decoding: name.prefix { $0 != 0 }, as: UTF8.self))
            }
            if let number, number != own { numbers.append(number) }
        }
        return numbers.sorted()
    }
}

/// 64 random bits, for identifiers that must not repeat or be guessed.
package func randomUInt64() -> UInt64 { Randomness.next() }

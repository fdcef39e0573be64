import CBridgePlatform

#if canImport(Glibc)
package import Glibc
#elseif canImport(Darwin)
package import Darwin
#endif

/// The operating system's signals, paths, file status, memory use, user names and local time.
package enum OperatingSystem {
    package static let interrupt = SIGINT
    package static let terminate = SIGTERM
    package static let hangUp = SIGHUP
    package static let kill = SIGKILL

    /// The directory that relative paths count from; nil if it has been removed.
    package static var workingDirectory: String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            getcwd(buffer.baseAddress, buffer.count).map { String(cString: $0) }
        }
    }

    /// Identifies the machine's last start; nil if the system does not say.
    package static var bootIdentity: String? {
        #if os(Linux)
        guard let file = try? SystemFile.open(reading: "/proc/sys/kernel/random/boot_id"),
            let bytes = try? file.read(upTo: 64), !bytes.isEmpty
        else { return nil }
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        #else
        return nil
        #endif
    }

    package static func fileExists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// The status of the file that a path leads to; nil if the path leads nowhere, or this process cannot see where.
    package static func status(of path: String) -> FileStatus? {
        var status = stat()
        return stat(path, &status) == 0 ? FileStatus(status) : nil
    }

    /// How much memory of a process lies in RAM now, in bytes; nil if there is no such process, or the system does not
    /// say.
    package static func residentBytes(of process: pid_t) -> Int? {
        let count = cbp_resident_bytes(process)
        return count > 0 ? Int(clamping: count) : nil
    }

    /// The name of a user, such as `daemon`; nil for a user without a name.
    ///
    /// This may ask a directory service and wait for the answer.
    package static func name(ofUser user: UInt32) -> String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16 << 10) { buffer in
            guard let start = buffer.baseAddress, getpwuid_r(user, &entry, start, buffer.count, &found) == 0,
                let name = found?.pointee.pw_name
            else { return nil }
            return String(cString: name)
        }
    }

    /// How many seconds local time is ahead of UTC at that second.
    package static func secondsAheadOfUTC(atSecond second: Int) -> Int {
        var time = time_t(second)
        var parts = tm()
        guard localtime_r(&time, &parts) != nil else { return 0 }
        return parts.tm_gmtoff
    }
}

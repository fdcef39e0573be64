import BridgePlatform
import FoundationEssentials
import Locks

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A directory for the files of one work; it is removed when the work has ended or failed.
struct BenchmarkDirectory: Sendable {
    let path: String

    /// Makes a directory in `TMPDIR`, or in `/tmp`, for as long as `body` runs.
    static func with<Result>(_ body: (BenchmarkDirectory) async throws -> Result) async throws -> Result {
        let directory = BenchmarkDirectory(path: try PrivateDirectory.make(named: "bridge-benchmark").path)
        Present.shared.insert(directory.path)
        defer { directory.remove() }
        return try await body(directory)
    }

    /// Removes all directories, for a program that is about to end because a work has failed.
    static func removeAll() {
        for path in Present.shared.paths { BenchmarkDirectory(path: path).remove() }
    }

    /// Throws if the file system has less room than a work needs.
    func requireRoom(bytes: UInt64) throws {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { throw SystemError.current("looking for room in \(path)") }
        let (free, isTooMuch) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        guard isTooMuch || free >= bytes else {
            throw BenchmarkDirectoryError(
                """
                \(path) has room for \(free >> 20) MiB, and the work needs \(bytes >> 20) MiB; TMPDIR may name another \
                disk
                """
            )
        }
    }

    private func remove() {
        Present.shared.remove(path)
        // A directory that cannot be removed is reported; the measurements are valid all the same.
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            CurrentProcess.report("\(path) cannot be removed: \(error)")
        }
    }

    /// The directories that exist now.
    private final class Present: @unchecked Sendable {
        // Sendable: guarded by `lock`.
        static let shared = Present()
        private let lock = Lock()
        private var all: Set<String> = []

        var paths: Set<String> { lock.withLock { all } }

        func insert(_ path: String) {
            lock.withLock { _ = all.insert(path) }
        }

        func remove(_ path: String) {
            lock.withLock { _ = all.remove(path) }
        }
    }
}

/// Why a work has no directory to work in.
struct BenchmarkDirectoryError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

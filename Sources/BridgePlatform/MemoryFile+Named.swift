import CBridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Memory with a name that outlives its writer: a process that is killed leaves behind all that it had stored.
extension MemoryFile {
    /// Makes a file of `byteCount` bytes, all 0, and maps it.
    ///
    /// - Parameter prepare: fills in what the file must hold from the start; the file gets its name only afterwards.
    package static func create(
        at path: String,
        byteCount: Int,
        prepare: (MemoryMapping) -> Void
    ) throws(SystemError) -> MemoryMapping {
        let unfinished = path + ".new"
        let number = try SystemError.check("making the file \(path)") {
            open(unfinished, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        }
        let descriptor = FileDescriptor(owning: number)
        try SystemError.check("giving \(path) \(byteCount) bytes") { ftruncate(number, off_t(byteCount)) }
        guard let file = MemoryFile(inherited: descriptor) else {
            throw SystemError(code: EINVAL, operation: "making the file \(path)")
        }
        let mapping = try file.map()
        prepare(mapping)
        try SystemError.check("naming the file \(path)") { rename(unfinished, path) }
        return mapping
    }

    /// Maps the whole of a file that ``create(at:byteCount:prepare:)`` has made.
    package static func map(at path: String) throws(SystemError) -> MemoryMapping {
        let number = try SystemError.check("opening the file \(path)") { open(path, O_RDWR | O_CLOEXEC) }
        guard let file = MemoryFile(inherited: FileDescriptor(owning: number)) else {
            throw SystemError(code: EINVAL, operation: "opening the file \(path)")
        }
        return try file.map()
    }
}

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A directory for files that exist only while this process does; it has a unique name and is open to this user alone.
package struct PrivateDirectory: Sendable {
    package let path: String

    /// Makes a directory in `TMPDIR`, or in `/tmp`.
    package static func make(named name: String) throws(SystemError) -> PrivateDirectory {
        let stated = CurrentProcess.environment("TMPDIR") ?? ""
        let parent = stated.hasPrefix("/") ? stated : "/tmp"
        var path = Array("\(parent)/\(name).XXXXXX".utf8CString)
        guard mkdtemp(&path) != nil else { throw SystemError.current("making a directory in \(parent)") }
        // The umask may have taken the owner's own permissions away.
        chmod(path, 0o700)
        return PrivateDirectory(path: String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self))
    }

    /// Removes the directory, unless it has something in it.
    package func remove() { rmdir(path) }
}

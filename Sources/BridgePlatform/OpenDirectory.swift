import CBridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A directory that is held open, so that no process can redirect calls on it by renaming directories.
///
/// Names are those of its entries, without slashes. Only `setPermissions` follows a link. Any thread may use it.
package final class OpenDirectory: Sendable {
    private let descriptor: FileDescriptor

    private init(owning number: CInt) {
        descriptor = FileDescriptor(owning: number)
    }

    /// The root directory.
    package static func root() throws(SystemError) -> OpenDirectory {
        OpenDirectory(owning: try SystemError.check("opening /") { cbp_directory_open(AT_FDCWD, "/") })
    }

    /// The directory of this name, which may be "..".
    package func open(_ name: String) throws(SystemError) -> OpenDirectory {
        let number = descriptor.rawValue
        return OpenDirectory(
            owning: try SystemError.check("opening the directory \(name)") { cbp_directory_open(number, name) }
        )
    }

    package func status() throws(SystemError) -> FileStatus {
        var status = stat()
        try SystemError.check("looking at a directory") { fstat(descriptor.rawValue, &status) }
        return FileStatus(status)
    }

    /// The status of the entry of this name; nil if there is no such entry.
    package func status(of name: String) throws(SystemError) -> FileStatus? {
        var status = stat()
        if fstatat(descriptor.rawValue, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return FileStatus(status) }
        let error = SystemError.current("looking at \(name)")
        if error.code == ENOENT { return nil }
        throw error
    }

    /// Where a symbolic link leads.
    package func target(ofLink name: String) throws(SystemError) -> String {
        try withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer throws(SystemError) in
            guard let start = buffer.baseAddress else { return "" }
            let length = try SystemError.check("reading the link \(name)") {
                readlinkat(descriptor.rawValue, name, start, buffer.count)
            }
            return String(decoding: UnsafeRawBufferPointer(start: start, count: length), as: UTF8.self)
        }
    }

    /// Makes a directory that is open to this user alone, whatever the umask.
    ///
    /// - Returns: Whether the directory was made; false if there is an entry of this name.
    package func makeDirectory(_ name: String) throws(SystemError) -> Bool {
        if mkdirat(descriptor.rawValue, name, 0o700) != 0 {
            let error = SystemError.current("making the directory \(name)")
            if error.code == EEXIST { return false }
            throw error
        }
        // The umask may have taken the owner's own permissions away.
        try setPermissions(0o700, of: name)
        return true
    }

    package func setPermissions(_ permissions: UInt32, of name: String) throws(SystemError) {
        try SystemError.check("setting the permissions of \(name)") {
            fchmodat(descriptor.rawValue, name, mode_t(permissions), 0)
        }
    }

    /// Removes an entry that is no directory; a missing entry is no error.
    package func remove(_ name: String) throws(SystemError) {
        if unlinkat(descriptor.rawValue, name, 0) == 0 { return }
        let error = SystemError.current("removing \(name)")
        if error.code != ENOENT { throw error }
    }

    /// Opens a file to lock it, and makes the file if it is missing.
    package func openLock(_ name: String) throws(SystemError) -> LockFile { try LockFile.open(name, in: descriptor) }
}

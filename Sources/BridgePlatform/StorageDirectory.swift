import CBridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A directory that is held open and whose files outlive the process.
///
/// Names are those of its own entries, without slashes; no symbolic link is followed. Any thread may use it.
package final class StorageDirectory: Sendable {
    /// What the file system under a directory can promise.
    package enum FileSystem: Sendable, Hashable {
        /// What was written once can be written again, however full the file system is: no store into it through a
        /// mapping fails for lack of room.
        case inPlace
        /// A file system of this machine that may need room to write what is there already.
        case local
        /// A file system of another machine, or of a program that may ask another machine.
        case remote

        /// The kind of a file system whose type has this number on Linux (statfs(2)).
        package init(ofType type: UInt64) { self.init(cbp_file_system_of_type(type)) }

        fileprivate init(_ kind: cbp_file_system) {
            switch kind {
            case cbp_file_system_in_place: self = .inPlace
            case cbp_file_system_local: self = .local
            default: self = .remote
            }
        }
    }

    private let descriptor: FileDescriptor

    /// Opens the directory at this path.
    ///
    /// - Parameter makes: whether a missing directory is made, open to this user alone; the directory above it has to
    ///   be there.
    package init(at path: String, makes: Bool) throws(SystemError) {
        // A NUL would end the name early for the kernel, and another directory would be opened.
        guard !path.utf8.contains(0) else { throw SystemError(code: EINVAL, operation: "opening the directory") }
        let isNew = makes && mkdir(path, 0o700) == 0
        // The umask may have taken the owner's own permissions away.
        if isNew { try SystemError.check("setting the permissions of \(path)") { chmod(path, 0o700) } }
        let number = try SystemError.check("opening the directory \(path)") {
            openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        }
        descriptor = FileDescriptor(owning: number)
        // Without this, a power cut may take the directory, with all files that were synchronized in it.
        if isNew { try synchronizeParent() }
    }

    private func synchronizeParent() throws(SystemError) {
        let parent = FileDescriptor(
            owning: try SystemError.check("opening the directory above the new one") {
                openat(descriptor.rawValue, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            }
        )
        try SystemError.check("synchronizing the directory above the new one") {
            cbp_directory_synchronize(parent.rawValue)
        }
    }

    package var fileSystem: FileSystem { FileSystem(cbp_file_system_of(descriptor.rawValue)) }

    package func status() throws(SystemError) -> FileStatus {
        var status = stat()
        try SystemError.check("looking at the directory") { fstat(descriptor.rawValue, &status) }
        return FileStatus(status)
    }

    /// The names of all entries, sorted.
    package func names() throws(SystemError) -> [String] {
        // A directory stream moves its descriptor's position, so this stream gets an open directory of its own.
        let number = try SystemError.check("opening the directory to list it") {
            openat(descriptor.rawValue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        }
        guard let stream = fdopendir(number) else {
            let error = SystemError.current("listing the directory")
            FileDescriptor(owning: number).close()
            throw error
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: name.pointee)) {
                    String(cString: $0)
                }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        if errno != 0 { throw SystemError.current("listing the directory") }
        return names.sorted()
    }

    /// Opens a regular file; anything else is refused.
    package func open(_ name: String, forWriting: Bool = false) throws(SystemError) -> StorageFile {
        try file(name, forWriting ? O_RDWR : O_RDONLY)
    }

    /// Makes a file that only this user may read and write; an existing file of this name is an error.
    package func create(_ name: String) throws(SystemError) -> StorageFile {
        let made = try file(name, O_RDWR | O_CREAT | O_EXCL)
        // The umask may have taken the owner's own permissions away.
        try made.setPermissions(0o600)
        return made
    }

    private func file(_ name: String, _ flags: CInt) throws(SystemError) -> StorageFile {
        let number = try SystemError.check("opening \(name)") {
            // O_NONBLOCK, because another process may have put a pipe there, whose opening would wait.
            openat(descriptor.rawValue, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
        }
        return try StorageFile(FileDescriptor(owning: number), name: name)
    }

    /// Makes a file of `byteCount` bytes, all 0, for which the file system keeps room, and locks it for this process
    /// and all that get its descriptor; an existing file of this name is an error.
    ///
    /// Fails if the file system cannot keep room, if it holds its files in memory only, or if less than 256 MiB would
    /// be left for other files.
    package func makeMemory(_ name: String, byteCount: Int) throws(SystemError) -> MemoryFile {
        let number = try SystemError.check("making \(name)") {
            openat(descriptor.rawValue, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        }
        let made = FileDescriptor(owning: number)
        do throws(SystemError) {
            // The umask may have taken the owner's own permissions away.
            try SystemError.check("setting the permissions of \(name)") { fchmod(number, 0o600) }
            try SystemError.check("keeping \(byteCount) bytes for \(name)") { cbp_file_reserve(number, byteCount) }
            guard let file = MemoryFile(inherited: made), try file.tryLock() else {
                throw SystemError(code: EWOULDBLOCK, operation: "locking \(name)")
            }
            return file
        } catch {
            _ = unlinkat(descriptor.rawValue, name, 0)
            throw error
        }
    }

    /// Opens a file that ``makeMemory(_:byteCount:)`` has made; nil if what has the name is no file, or an empty one.
    package func openMemory(_ name: String) throws(SystemError) -> MemoryFile? {
        let number = try SystemError.check("opening \(name)") {
            openat(descriptor.rawValue, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        }
        return MemoryFile(inherited: FileDescriptor(owning: number))
    }

    package func rename(_ name: String, to other: String) throws(SystemError) {
        try SystemError.check("renaming \(name)") {
            renameat(descriptor.rawValue, name, descriptor.rawValue, other)
        }
    }

    /// Removes a file; a missing file is no error.
    package func remove(_ name: String) throws(SystemError) {
        if unlinkat(descriptor.rawValue, name, 0) == 0 { return }
        let error = SystemError.current("removing \(name)")
        if error.code != ENOENT { throw error }
    }

    /// Returns when the names lie on the medium.
    package func synchronize() throws(SystemError) {
        try SystemError.check("synchronizing the directory") { cbp_directory_synchronize(descriptor.rawValue) }
    }

    /// Opens a file to lock it.
    ///
    /// - Parameter makes: whether a missing file is made.
    package func openLock(_ name: String, makes: Bool = true) throws(SystemError) -> LockFile {
        try LockFile.open(name, in: descriptor, makes: makes)
    }
}

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A file that is there as a whole or not at all: it is written under another name in the same directory, and takes its
/// own name when it is complete.
///
/// Until it is complete, an earlier file of that name stays as it was. A device or a pipe cannot be replaced; the bytes
/// are written to it directly.
package final class FileReplacement {
    private let file: SystemFile
    /// The name during the writing and the name after it; nil if the bytes are written to `path` directly.
    private let names: (temporary: String, final: String)?
    private var isSettled = false

    /// Begins to write a file.
    ///
    /// - Throws: The reason why the file cannot be written there; then nothing was made.
    package init(of path: String) throws(SystemFileError) {
        guard !path.utf8.contains(0) else { throw SystemFileError("its name has a NUL character") }
        var status = stat()
        let isThere = stat(path, &status) == 0
        let kind = status.st_mode & S_IFMT
        if isThere, kind == S_IFDIR { throw SystemFileError(EISDIR) }
        if isThere, kind != S_IFREG {
            file = try Self.open(path, O_WRONLY)
            names = nil
            return
        }
        // If `path` is a symbolic link, the file that it leads to is replaced, which may be in another directory.
        let target = isThere ? Self.resolved(path) : path
        let temporary = "\(target).\(String(randomUInt64(), radix: 36)).part"
        let permissions = isThere ? status.st_mode & 0o777 : nil
        file = try Self.make(temporary, permissions)
        names = (temporary, target)
    }

    /// Makes a file with these permissions, or with those of any new file; if that fails, nothing was made.
    ///
    /// The file never has more permissions than these: it may get content that other users must not read.
    private static func make(_ path: String, _ permissions: mode_t?) throws(SystemFileError) -> SystemFile {
        let file = try open(path, O_WRONLY | O_CREAT | O_EXCL, permissions ?? 0o666)
        guard let permissions else { return file }
        do throws(SystemFileError) {
            // The umask may have taken away some of them.
            try file.setPermissions(permissions)
            return file
        } catch {
            unlink(path)
            throw error
        }
    }

    deinit {
        if !isSettled, let names { unlink(names.temporary) }
    }

    /// Whether an uncommitted file leaves nothing behind; false if the bytes are written to its path directly.
    package var leavesNothing: Bool { names != nil }

    /// Writes after what was written before.
    package func append(_ bytes: [UInt8]) throws(SystemFileError) { try file.append(bytes) }

    /// Synchronizes the file, and puts it in its place unless the bytes are written there directly.
    package func commit() throws(SystemFileError) {
        try file.synchronize()
        guard let names else { return }
        guard rename(names.temporary, names.final) == 0 else { throw SystemFileError(errno) }
        isSettled = true
    }

    /// Removes the unfinished file, for a process that is about to exit at once, without running any `deinit`.
    ///
    /// Any thread may call this, at any time. It does nothing after ``commit()``, or if the bytes are written to the
    /// file's path directly; otherwise a later commit fails.
    package func discard() {
        if let names { unlink(names.temporary) }
    }

    private static func open(
        _ path: String,
        _ flags: CInt,
        _ permissions: mode_t = 0
    ) throws(SystemFileError) -> SystemFile {
        let number = retryingInterrupted { openFile(path, flags | O_CLOEXEC, permissions) }
        guard number >= 0 else { throw SystemFileError(errno) }
        return SystemFile(FileDescriptor(owning: number))
    }

    private static func resolved(_ path: String) -> String {
        guard let found = realpath(path, nil) else { return path }
        defer { free(found) }
        return String(cString: found)
    }
}

// Within the class, its own method `open` hides the system's `open`.
private func openFile(_ path: String, _ flags: CInt, _ mode: mode_t) -> CInt { open(path, flags, mode) }

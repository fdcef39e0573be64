#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// An open directory, in which the services do two things: read a file, and put a new file in its place.
///
/// Everything goes through the open descriptor, so that no process can swap a part of the path between a check and its
/// use.
package struct Directory: ~Copyable {
    private let descriptor: CInt
    private let path: String

    private init(owning descriptor: CInt, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit {
        _ = close(descriptor)
    }

    /// Opens a directory that the program's caller has named: symbolic links are followed.
    static func open(_ path: String, creatingMissing: Bool = false) throws(FileError) -> Directory {
        do {
            return try openExisting(path)
        } catch {
            guard creatingMissing, error.code == ENOENT else { throw error }
            let (parent, name) = split(path)
            // The recursion ends at "." or "/" at the latest, which exist.
            guard !name.isEmpty else { throw error }
            try Directory.open(parent, creatingMissing: true).make(name)
            return try openExisting(path)
        }
    }

    private static func openExisting(_ path: String) throws(FileError) -> Directory {
        let descriptor = openDirectory(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError.current("opening the directory \"\(path)\"") }
        return Directory(owning: descriptor, path: path)
    }

    /// The directory part and the last part of a path; slashes at the end of the path do not count.
    static func split(_ path: String) -> (directory: String, name: String) {
        // The path is split as bytes, as the system reads it: to Swift, a slash before a combining accent is no slash.
        let slash = UInt8(ascii: "/")
        var bytes = Array(path.utf8)
        while bytes.count > 1, bytes.last == slash { bytes.removeLast() }
        guard let last = bytes.lastIndex(of: slash) else { return (".", String(decoding: bytes, as: UTF8.self)) }
        let name = String(decoding: bytes[(last + 1)...], as: UTF8.self)
        return (last == 0 ? "/" : String(decoding: bytes[..<last], as: UTF8.self), name)
    }

    /// Opens a directory below this one, and makes it if it is missing; throws if the name is a symbolic link.
    borrowing func subdirectory(_ name: String) throws(FileError) -> Directory {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        var found = openDirectory(descriptor, name, flags)
        if found < 0, errno == ENOENT {
            try make(name)
            found = openDirectory(descriptor, name, flags)
        }
        guard found >= 0 else {
            let code = errno
            guard code != ELOOP, code != ENOTDIR else {
                throw FileError("\"\(name)\" in \"\(path)\" is a symbolic link or a file, not a directory", code: code)
            }
            throw FileError.current("opening \"\(name)\" in \"\(path)\"", code: code)
        }
        return Directory(owning: found, path: "\(path)/\(name)")
    }

    private borrowing func make(_ name: String) throws(FileError) {
        guard mkdirat(descriptor, name, 0o777) == 0 || errno == EEXIST else {
            throw FileError.current("making the directory \"\(name)\" in \"\(path)\"")
        }
        try synchronise()
    }

    /// The whole content of a file; nil if there is no file of this name.
    borrowing func read(_ name: String) throws(FileError) -> [UInt8]? {
        let file = openFile(descriptor, name, O_RDONLY | O_CLOEXEC, 0)
        guard file >= 0 else {
            let code = errno
            guard code != ENOENT else { return nil }
            throw FileError.current("opening \"\(name)\" in \"\(path)\"", code: code)
        }
        defer { _ = close(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = receive(file, &chunk)
            if count == 0 { return bytes }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw FileError.current("reading \"\(name)\" in \"\(path)\"")
            }
            bytes += chunk[..<count]
        }
    }

    /// Replaces a file by one with this content: a reader finds the whole old file or the whole new file, also after a
    /// crash or a power cut.
    ///
    /// When this throws, the old file is still there, with one exception. The last step writes the directory to the
    /// disk; if that step fails, readers see the new file, and a power cut may leave either file.
    ///
    /// - Parameter temporaryName: the new file's name until it is complete. One process at a time writes under this
    ///   name; the file of a killed process is overwritten.
    borrowing func replace(_ name: String, with bytes: [UInt8], temporaryName: String) throws(FileError) {
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC
        let file = openFile(descriptor, temporaryName, flags, 0o666)
        guard file >= 0 else { throw FileError.current("creating \"\(temporaryName)\" in \"\(path)\"") }
        do {
            defer { _ = close(file) }
            try Directory.write(bytes, to: file, named: "\"\(name)\" in \"\(path)\"")
        } catch {
            unlinkat(descriptor, temporaryName, 0)
            throw error
        }
        guard renameat(descriptor, temporaryName, descriptor, name) == 0 else {
            let error = FileError.current("replacing \"\(name)\" in \"\(path)\"")
            unlinkat(descriptor, temporaryName, 0)
            throw error
        }
        try synchronise()
    }

    /// Writes all bytes and waits until they have reached the disk.
    package static func write(_ bytes: [UInt8], to file: CInt, named name: String) throws(FileError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = send(file, rest)
            guard count >= 0 else {
                if errno == EINTR { continue }
                throw FileError.current("writing \(name)")
            }
            rest = rest.dropFirst(count)
        }
        guard fsync(file) == 0 else { throw FileError.current("bringing \(name) to the disk") }
    }

    private borrowing func synchronise() throws(FileError) {
        // Some file systems cannot synchronize a directory, and say EINVAL.
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw FileError.current("bringing the directory \"\(path)\" to the disk")
        }
    }
}

// These functions exist because inside `Directory` its own `open`, `read` and `write` hide those of the C library.

private func openDirectory(_ parent: CInt, _ path: String, _ flags: CInt) -> CInt {
    openat(parent, path, flags)
}

private func openFile(_ parent: CInt, _ name: String, _ flags: CInt, _ mode: mode_t) -> CInt {
    openat(parent, name, flags, mode)
}

private func receive(_ file: CInt, _ chunk: inout [UInt8]) -> Int {
    chunk.withUnsafeMutableBytes { read(file, $0.baseAddress, $0.count) }
}

private func send(_ file: CInt, _ bytes: ArraySlice<UInt8>) -> Int {
    bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
}

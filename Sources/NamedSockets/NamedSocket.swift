package import BridgePlatform
import Locks

/// A listening socket with a name in the file system; the name belongs to this user and this process alone.
///
/// A lock file beside the socket decides which process has the name. So a killed process's socket file is replaced, and
/// a living process's socket file is left alone. Nothing else that lies at the path is ever removed.
package final class NamedSocket: ListeningSocket, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`. The socket's owner lets only one thread at a time recreate it.

    package let path: String
    /// The user that owns the socket, and may connect.
    package let user: UInt32
    private let directoryPath: String
    private let name: String
    private let backlog: CInt

    private let lock = Lock()
    private var directory: SocketDirectory
    private var claim: SocketLock
    private var bound: Bound
    private var isRemoved = false

    /// The socket and the identity of its file: `remove` leaves any other file at the path alone.
    private struct Bound: Sendable {
        let socket: SharedDescriptor
        let file: FileStatus.Identity
    }

    /// What is at the path.
    package enum Place: Equatable, Sendable {
        /// This socket.
        case own
        case nothing
        /// Another file.
        case foreign
        /// The place could not be read for now, for lack of descriptors or memory.
        case unknown
    }

    /// Makes the socket, and the last directory of its path if that is missing, and listens.
    ///
    /// - Parameters:
    ///   - path: the path of the socket; without a leading slash it counts from the working directory.
    ///   - backlog: how many connections may wait to be accepted.
    package init(
        at path: String,
        user: UInt32 = CurrentProcess.user,
        backlog: CInt = 128
    ) throws(NamedSocketError) {
        let path = try Self.absolute(path)
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        name = String(path[path.index(after: slash)...])
        directoryPath = String(path[..<slash])
        self.path = path
        self.user = user
        self.backlog = backlog
        let there = try SocketDirectory.open(directoryPath, for: user, makes: true, socket: path)
        directory = there
        claim = try .take(for: name, in: there.directory, path: path, user: user)
        do {
            bound = try Self.bind(path, name, in: there, user: user, backlog: backlog)
        } catch {
            // A lock without a socket is of no use. This process holds the lock, so it may remove the lock's file.
            try? there.directory.remove(claim.name)
            throw error
        }
    }

    deinit {
        remove()
    }

    package var socket: SharedDescriptor { lock.withLock { bound.socket } }

    package func look() -> Place {
        let file = lock.withLock { bound.file }
        do {
            let there = try SocketDirectory.open(directoryPath, for: user, makes: false, socket: path)
            let status = try attempt(path) { () throws(SystemError) in try there.directory.status(of: name) }
            return status.map { $0.identity == file ? .own : .foreign } ?? .nothing
        } catch {
            if case .system(_, let cause) = error, cause.isShortage { return .unknown }
            return .nothing
        }
    }

    /// Makes the socket's file anew after it was removed; connected peers stay connected.
    ///
    /// If another file lies at the path by now, this leaves the file alone and throws, unless the file is a socket of
    /// this user that no process serves. Afterwards ``socket`` is another socket.
    package func recreate() throws(NamedSocketError) {
        let (directory, claim) = lock.withLock { (self.directory, self.claim) }
        let there = try SocketDirectory.open(directoryPath, for: user, makes: true, socket: path)
        let isSameDirectory = there.identity == directory.identity
        let named = try attempt(path) { () throws(SystemError) in try there.directory.status(of: claim.name) }
        // The lock's file may be gone, too, alone or with the directory. Without that file, a second process would
        // think that the path is free.
        let isClaimed = isSameDirectory && named?.identity == claim.identity
        let newClaim =
            isClaimed ? claim : try SocketLock.take(for: name, in: there.directory, path: path, user: user)
        let newlyBound = try Self.bind(path, name, in: there, user: user, backlog: backlog)
        let isLate = lock.withLock {
            (self.directory, self.claim, bound) = (there, newClaim, newlyBound)
            return isRemoved
        }
        if isLate { removeFiles() }
    }

    /// Removes the socket's file and its lock, if they are still this object's; no process can connect any more.
    package func remove() {
        let isFirst = lock.withLock {
            defer { isRemoved = true }
            return !isRemoved
        }
        if isFirst { removeFiles() }
    }

    private func removeFiles() {
        let (directory, claim, bound) = lock.withLock { (self.directory.directory, self.claim, self.bound) }
        // The socket goes first, so that the process that gets the lock next finds no socket of this process.
        for (name, identity) in [(name, bound.file), (claim.name, claim.identity)] {
            // Best effort: the process that gets the lock next recognises a leftover.
            if (try? directory.status(of: name))??.identity == identity { try? directory.remove(name) }
        }
    }

    // MARK: - Steps

    private static func absolute(_ path: String) throws(NamedSocketError) -> String {
        guard !path.isEmpty, !path.utf8.contains(0), path.last != "/" else {
            throw .unsafePath(path, why: "expected the path of a file")
        }
        var whole = path
        if !path.hasPrefix("/") {
            guard let above = OperatingSystem.workingDirectory else {
                throw .unsafePath(path, why: "the working directory has been removed")
            }
            whole = above + "/" + path
        }
        let length = whole.utf8.count
        guard length <= UnixSocket.maximumPathLength else {
            throw .pathTooLong(whole, length: length, maximum: UnixSocket.maximumPathLength)
        }
        guard !["", ".", ".."].contains(whole.split(separator: "/").last ?? "") else {
            throw .unsafePath(path, why: "expected the path of a file")
        }
        return whole
    }

    private static func bind(
        _ path: String,
        _ name: String,
        in there: SocketDirectory,
        user: UInt32,
        backlog: CInt
    ) throws(NamedSocketError) -> Bound {
        try clear(path, name, in: there, user: user)
        // The socket is bound by its path, because neither Linux nor Darwin can bind relative to an opened directory.
        // That is safe: no other user can swap a directory on the path, as `SocketDirectory.open` has made sure.
        let socket = try attempt(path) { () throws(SystemError) in
            SharedDescriptor(try UnixSocket.bind(to: path))
        }
        let status = try attempt(path) { () throws(SystemError) in
            try there.directory.setPermissions(0o600, of: name)
            return try there.directory.status(of: name)
        }
        guard let status, status.kind == .socket, status.owner == user, status.permissions == 0o600 else {
            throw .unsafePath(path, why: "another file took its place while it was made")
        }
        try attempt(path) { () throws(SystemError) in
            try UnixSocket.startListening(socket.rawValue, backlog: backlog)
            try FileDescriptor.setNonBlocking(socket.rawValue)
        }
        return Bound(socket: socket, file: status.identity)
    }

    /// Removes what the lock's previous holder has left.
    private static func clear(
        _ path: String,
        _ name: String,
        in there: SocketDirectory,
        user: UInt32
    ) throws(NamedSocketError) {
        guard let status = try attempt(path, { () throws(SystemError) in try there.directory.status(of: name) })
        else { return }
        guard status.kind == .socket else {
            throw .unsafePath(path, why: "\(status.kind.phrase) lies there")
        }
        guard status.owner == user else {
            throw .unsafePath(path, why: "a socket of user \(status.owner) lies there")
        }
        // The lock says that no process serves the path. A program that knows nothing of the lock, or whose lock was
        // deleted, may still serve it.
        let listener = try attempt(path) { () throws(SystemError) in try UnixSocket.listener(at: path) }
        if case .process(let pid) = listener { throw .alreadyRunning(path, pid: pid) }
        try attempt(path) { () throws(SystemError) in try there.directory.remove(name) }
    }
}

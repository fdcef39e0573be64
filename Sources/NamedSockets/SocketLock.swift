import BridgePlatform

/// Says which process serves a socket's path: the process that holds the lock on a file beside the socket.
struct SocketLock: Sendable {
    private let file: LockFile
    let name: String
    let identity: FileStatus.Identity

    /// Takes the lock for the socket `name` in `directory`.
    static func take(
        for name: String,
        in directory: OpenDirectory,
        path: String,
        user: UInt32
    ) throws(NamedSocketError) -> SocketLock {
        let lockName = name + ".lock"
        // The steps are repeated if the lock's holder has removed the file meanwhile: a holder does that when it gives
        // the socket up. Each repetition takes another holder that does so at just that time, so the loop ends.
        while true {
            if let status = try attempt(path, { () throws(SystemError) in try directory.status(of: lockName) }) {
                try judge(status, lockName, path, user)
            }
            let file = try attempt(path) { () throws(SystemError) in try directory.openLock(lockName) }
            let status = try attempt(path) { () throws(SystemError) in try file.status() }
            try judge(status, lockName, path, user)
            guard try attempt(path, { () throws(SystemError) in try file.tryLock() }) else {
                throw .alreadyRunning(path, pid: file.signer())
            }
            let named = try attempt(path) { () throws(SystemError) in try directory.status(of: lockName) }
            guard named?.identity == status.identity else { continue }
            try attempt(path) { () throws(SystemError) in try sign(file) }
            return SocketLock(file: file, name: lockName, identity: status.identity)
        }
    }

    /// Writes this process's number into the lock file: a process that finds the file locked can then name the holder.
    ///
    /// On a full disk the lock holds without the number.
    private static func sign(_ file: LockFile) throws(SystemError) {
        do throws(SystemError) {
            try file.sign()
        } catch {
            guard error.isFullDisk else { throw error }
        }
    }

    /// Throws if the file with the lock's name cannot be this user's lock file.
    ///
    /// The caller asks before it opens the file, and again before it writes into it.
    private static func judge(
        _ status: FileStatus,
        _ name: String,
        _ path: String,
        _ user: UInt32
    ) throws(NamedSocketError) {
        guard status.kind == .regularFile else {
            throw .unsafePath(path, why: "its lock \(name) is \(status.kind.phrase)")
        }
        guard status.owner == user else {
            throw .unsafePath(path, why: "its lock \(name) belongs to user \(status.owner), not to user \(user)")
        }
        guard status.nameCount <= 1 else {
            throw .unsafePath(path, why: "its lock \(name) has another hard link")
        }
    }
}

extension FileStatus.Kind {
    /// What the file is, as a noun with its article.
    var phrase: String {
        switch self {
        case .directory: "a directory"
        case .regularFile: "a regular file"
        case .socket: "a socket"
        case .symbolicLink: "a symbolic link"
        case .other: "a pipe or a device"
        }
    }
}

import BridgePlatform

/// The directory of a named socket: it belongs to one user alone, and no other user can put another directory in its
/// place.
///
/// Each directory on the path is opened from the directory above it, and judged when it is open. The owner of a
/// directory above, and any user that may write in it, could swap what is in it. So each of those must belong to this
/// user or to the superuser, and may be writable to others only if it is sticky, as `/tmp` is.
struct SocketDirectory: Sendable {
    let directory: OpenDirectory
    let identity: FileStatus.Identity

    /// Opens the directory at `path`, which is absolute.
    ///
    /// - Parameters:
    ///   - makes: whether the last directory of the path is made if it is missing.
    ///   - socket: the path of the socket, for messages.
    static func open(
        _ path: String,
        for user: UInt32,
        makes: Bool,
        socket: String
    ) throws(NamedSocketError) -> SocketDirectory {
        var walk = try Walk(to: path, user: user, makes: makes, socket: socket)
        while try walk.step() {}
        guard let directory = walk.found else {
            throw .unsafePath(socket, why: "the root directory is no place for a socket")
        }
        return directory
    }
}

/// One walk from the root directory down to a socket's directory.
private struct Walk {
    private struct Step {
        let name: String
        /// Whether the step leads into the socket's directory itself.
        let isLast: Bool
    }

    private let socket: String
    private let user: UInt32
    private let makes: Bool
    private var steps: [Step]
    private var current: OpenDirectory
    /// The path that has been walked, for messages.
    private var walked = ""
    private var links = 0
    private(set) var found: SocketDirectory?

    /// How many symbolic links are followed at most: as many as Linux follows.
    private static let maximumLinks = 40
    private static let superuser: UInt32 = 0

    init(to path: String, user: UInt32, makes: Bool, socket: String) throws(NamedSocketError) {
        self.socket = socket
        self.user = user
        self.makes = makes
        let names = path.split(separator: "/").filter { $0 != "." }
        steps = names.enumerated().map { Step(name: String($0.element), isLast: $0.offset == names.count - 1) }
        current = try attempt(socket) { () throws(SystemError) in try .root() }
        try judgeAncestor(try attempt(socket) { [current] () throws(SystemError) in try current.status() }, "/")
    }

    /// Goes one step down; false if no step is left.
    mutating func step() throws(NamedSocketError) -> Bool {
        guard !steps.isEmpty else { return false }
        let step = steps.removeFirst()
        let place = walked + "/" + step.name
        let here = current
        var status = try attempt(socket) { () throws(SystemError) in try here.status(of: step.name) }
        if status == nil, step.isLast, makes {
            status = try attempt(socket) { () throws(SystemError) in
                _ = try here.makeDirectory(step.name)
                return try here.status(of: step.name)
            }
        }
        guard let status else { throw .unsafePath(socket, why: "there is no directory \(place)") }
        switch status.kind {
        case .directory: try enter(step, place)
        case .symbolicLink: try follow(step, place, status)
        default: throw .unsafePath(socket, why: "\(place) is no directory")
        }
        return true
    }

    private mutating func enter(_ step: Step, _ place: String) throws(NamedSocketError) {
        let here = current
        let (next, status) = try attempt(socket) { () throws(SystemError) in
            let next = try here.open(step.name)
            // This is the status of what has been opened, whatever was there a moment ago.
            return (next, try next.status())
        }
        if step.isLast {
            try judge(status, place)
            found = SocketDirectory(directory: next, identity: status.identity)
        } else {
            try judgeAncestor(status, place)
        }
        current = next
        walked = place
    }

    /// Follows the system's own links, such as `/var/run`, and no other user's.
    private mutating func follow(_ step: Step, _ place: String, _ status: FileStatus) throws(NamedSocketError) {
        guard !step.isLast else { throw .unsafePath(socket, why: "\(place) is a symbolic link") }
        guard status.owner == Self.superuser else {
            throw .unsafePath(socket, why: "\(place) is a symbolic link of user \(status.owner)")
        }
        links += 1
        guard links <= Self.maximumLinks else { throw .unsafePath(socket, why: "it has too many symbolic links") }
        let here = current
        let target = try attempt(socket) { () throws(SystemError) in try here.target(ofLink: step.name) }
        if target.hasPrefix("/") {
            current = try attempt(socket) { () throws(SystemError) in try .root() }
            walked = ""
        }
        let names = target.split(separator: "/").filter { $0 != "." }
        steps.insert(contentsOf: names.map { Step(name: String($0), isLast: false) }, at: 0)
    }

    private func judge(_ status: FileStatus, _ place: String) throws(NamedSocketError) {
        guard status.owner == user else {
            throw .unsafePath(
                socket,
                why: "the directory \(place) belongs to user \(status.owner), not to user \(user)"
            )
        }
        guard status.permissions & 0o077 == 0 else {
            throw .unsafePath(
                socket,
                why: """
                    the directory \(place) is open to other users (\(text(of: status.permissions))); \
                    expected one that only its user may enter (700)
                    """
            )
        }
    }

    private func judgeAncestor(_ status: FileStatus, _ place: String) throws(NamedSocketError) {
        guard status.owner == user || status.owner == Self.superuser else {
            throw .unsafePath(
                socket,
                why: "user \(status.owner) owns the directory \(place), and could put another in its place"
            )
        }
        guard status.permissions & 0o022 == 0 || status.isSticky else {
            throw .unsafePath(
                socket,
                why: """
                    other users may write in the directory \(place) (\(text(of: status.permissions))) \
                    and could replace what is in it
                    """
            )
        }
    }

    private func text(of permissions: UInt32) -> String { String(permissions, radix: 8) }
}

/// Runs `body`; an error of the system becomes an error of the socket at `path`.
func attempt<Value>(_ path: String, _ body: () throws(SystemError) -> Value) throws(NamedSocketError) -> Value {
    do throws(SystemError) {
        return try body()
    } catch {
        throw .system(path, error)
    }
}

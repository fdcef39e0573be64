package import BridgePlatform

/// Why there is no socket at a path.
package enum NamedSocketError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The path is not safe to use: something on it may belong to another user or program, or no socket can lie there.
    case unsafePath(String, why: String)
    /// Another process serves this path, or is about to; `pid` is nil if its number is unknown.
    case alreadyRunning(String, pid: Int32?)
    /// The absolute path is too long; the lengths are in bytes.
    case pathTooLong(String, length: Int, maximum: Int)
    case system(String, SystemError)

    package var description: String {
        switch self {
        case .unsafePath(let path, let why): "the socket \(path) cannot be made: \(why)"
        case .alreadyRunning(let path, let pid):
            "the socket \(path) belongs to \(pid.map { "process \($0)" } ?? "another process"), which is running"
        case .pathTooLong(let path, let length, let maximum):
            "the socket's path \(path) has \(length) bytes; \(maximum) are possible on this system"
        case .system(let path, let error): "the socket \(path) cannot be made: \(error)"
        }
    }
}

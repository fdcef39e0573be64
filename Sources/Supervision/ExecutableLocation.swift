/// Says where the program of a child is found.
///
/// The supervisor looks the program up anew for every start, so the next restart picks up a program that was replaced
/// on disk.
public enum ExecutableLocation: Hashable, Sendable {
    /// The file at this path; a relative path counts from the supervisor's working directory.
    case path(String)

    /// The file of this name in the directory of the running executable, where a build puts its programs together.
    case beside(String)

    /// The first executable file of this name in the directories of the supervisor's `PATH`.
    case search(String)

    /// The path or name as it was written.
    public var name: String {
        switch self {
        case .path(let name), .beside(let name), .search(let name): name
        }
    }
}

extension ExecutableLocation: CustomStringConvertible {
    /// A phrase such as `"canvas-worker" beside the running executable`.
    public var description: String {
        switch self {
        case .path(let path): "\"\(path)\""
        case .beside(let name): "\"\(name)\" beside the running executable"
        case .search(let name): "\"\(name)\" in PATH"
        }
    }
}

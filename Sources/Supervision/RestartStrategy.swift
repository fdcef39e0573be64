/// Says which siblings are restarted along with a child.
///
/// The supervisor first stops these siblings, in reverse start order, each by its own shutdown sequence. They come back
/// after the back-off of the child that failed, in start order. But a temporary one comes back only if its restart was
/// requested meanwhile, and one on demand only after such a request or when something waits for it. Siblings that were
/// stopped on request, have finished or were given up stay as they are.
public enum RestartStrategy: String, Hashable, Sendable, CaseIterable {
    /// Only the child that ended: for children that do not depend on each other. The default.
    case oneForOne = "one-for-one"

    /// All children: for children that cannot work without each other.
    case oneForAll = "one-for-all"

    /// The child that ended and those after it in the list: for children that depend on those before them.
    case restForOne = "rest-for-one"

    package func restartSet(of index: Int, count: Int) -> Range<Int> {
        switch self {
        case .oneForOne: index..<(index + 1)
        case .oneForAll: 0..<count
        case .restForOne: index..<count
        }
    }
}

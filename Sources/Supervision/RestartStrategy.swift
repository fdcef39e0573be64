/// Says which siblings are restarted along with a child.
///
/// The supervisor first stops these siblings, in reverse start order, each by its own shutdown sequence. After the
/// back-off of the child that failed, all but temporary ones come back in start order; a temporary one does so if its
/// restart was requested meanwhile. Siblings that were stopped on request, have finished or were given up stay as they
/// are.
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

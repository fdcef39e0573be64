/// Says whether the end of significant children stops all the others; the terms have the meaning that Erlang/OTP gives
/// them.
///
/// A significant child is one for which the group exists: a job that finishes, or a leader without which the others are
/// of no use. Its end counts in three cases: a transient child ends normally, a temporary child ends in any way, or the
/// supervisor gives the child up. Two kinds of ends do not count: an end that was requested, and the end of a child
/// that is stopped because a sibling restarts.
public enum AutomaticShutdown: String, Hashable, Sendable, CaseIterable {
    /// No child's end stops the others, and no child may be significant. The default.
    case never

    /// All children are stopped when the first significant one has ended.
    case anySignificant = "any-significant"

    /// All children are stopped when a significant child has ended and no other significant child is left.
    case allSignificant = "all-significant"
}

extension AutomaticShutdown {
    /// Finds every mistake in how this value and the children fit together, each as a sentence; empty if there is none.
    package func mistakes(among children: [ChildSpecification]) -> [String] {
        let significant = children.filter(\.isSignificant)
        if self == .never {
            return significant.map {
                """
                child "\($0.name)": it is significant, but the automatic shutdown is "\(rawValue)", so that its end would end nothing; \
                choose "\(Self.anySignificant.rawValue)" or "\(Self.allSignificant.rawValue)"
                """
            }
        }
        if significant.isEmpty, !children.isEmpty {
            return [
                "the automatic shutdown is \"\(rawValue)\", but no child is significant, so that it would never come"
            ]
        }
        return []
    }
}

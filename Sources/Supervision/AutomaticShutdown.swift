/// Says whether the end of significant children stops all the others; the words and their meaning are those of
/// Erlang/OTP.
///
/// A significant child is one that the group is there for: a job that finishes, or a leader without which the others
/// are of no use. Its end counts when it came of its own accord: a transient child has ended normally, a temporary one
/// has ended in whatever way, or either was given up. An end that was asked for does not count, nor does one along with
/// a sibling that is restarted.
public enum AutomaticShutdown: String, Hashable, Sendable, CaseIterable {
    /// Nothing ends of itself; then no child may be significant. The default.
    case never

    /// All children are stopped when the first significant one has ended.
    case anySignificant = "any-significant"

    /// All children are stopped when a significant one has ended and no other is left.
    case allSignificant = "all-significant"
}

extension AutomaticShutdown {
    /// Finds every mistake in how this and the children fit together, each as a sentence; empty if there is none.
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

/// Says after which ends a child is started again; the terms have the meaning that Erlang/OTP gives them.
///
/// An end is *normal* when the child, without a fault, exited with status 0 or said goodbye in good order, and
/// *abnormal* otherwise. A child that was stopped on request or given up stays down, whatever its restart type.
public enum RestartType: String, Hashable, Sendable, CaseIterable {
    /// Started again after every end, normal or not: for a child that has to be there always.
    case permanent

    /// Not started again after a normal end of its own, unless it is on demand: for a child that may finish its work.
    case transient

    /// Started again only on request, even if the restart of a sibling has stopped it.
    case temporary

    package func restarts(afterNormalEnd isNormal: Bool) -> Bool {
        switch self {
        case .permanent: true
        case .transient: !isNormal
        case .temporary: false
        }
    }
}

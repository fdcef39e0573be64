/// The kinds of frames; the numbers are stable for ever.
///
/// A peer must understand every kind below ``firstSkippable`` and may skip the others.
package enum FrameKind: UInt64, Sendable, CaseIterable {
    case hello = 0
    case welcome = 1
    case reject = 2
    case interest = 3
    case ready = 4
    case moreTime = 5
    case event = 8
    case acknowledge = 9
    case refuse = 10
    case receipt = 11
    case gap = 12
    case heartbeat = 13
    case drain = 14
    case goodbye = 15
    case placed = 16

    package static let firstSkippable: UInt64 = 128
}

import BridgePlatform

/// How often a test repeats what it tries to catch: `standard` times, times `EVENT_BRIDGE_TEST_ROUNDS` where that is set.
///
/// Less than 1 is for sanitizers, under which everything takes several times as long; more is for long runs by hand.
package func rounds(_ standard: Int, atLeast minimum: Int = 1) -> Int {
    guard let factor = CurrentProcess.environment("EVENT_BRIDGE_TEST_ROUNDS").flatMap({ Double($0) }), factor > 0 else {
        return standard
    }
    return max(Int(Double(standard) * min(factor, 10_000)), minimum)
}

/// The rounds of a test that provokes a race: so many, but none that begins after two seconds.
///
/// Where other work wants the processors too, each yield of a round costs a time slice, and all rounds could take minutes.
package func rounds(atMost count: Int) -> some Sequence<Int> {
    let end = MonotonicClock.now() + 2_000_000_000
    return sequence(first: 0) { $0 + 1 < count && MonotonicClock.now() < end ? $0 + 1 : nil }
}

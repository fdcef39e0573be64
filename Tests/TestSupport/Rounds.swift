import BridgePlatform

/// The factor for the repetitions of tests that look for a rare fault: `EVENT_BRIDGE_TEST_ROUNDS`, where it is set.
///
/// Otherwise the factor is 1 in a release build, and less in a debug build, where each round takes several times as
/// long. Runs with sanitizers use even less; long runs by hand use more.
private let factor: Double = {
    if let factor = CurrentProcess.environment("EVENT_BRIDGE_TEST_ROUNDS").flatMap({ Double($0) }), factor > 0 {
        return min(factor, 10_000)
    }
    #if DEBUG
    return 0.3
    #else
    return 1
    #endif
}()

/// How often a test repeats its search for a rare fault: `standard` times in a release build.
package func rounds(_ standard: Int, atLeast minimum: Int = 1) -> Int {
    max(Int(Double(standard) * factor), minimum)
}

/// The rounds of a test that provokes a race: at most `count`, and none that begins after two seconds.
///
/// If other work needs the processors too, each yield in a round costs a time slice, and all rounds could take minutes.
package func rounds(atMost count: Int) -> some Sequence<Int> {
    let end = MonotonicClock.now() + 2_000_000_000
    return sequence(first: 0) { $0 + 1 < count && MonotonicClock.now() < end ? $0 + 1 : nil }
}

/// All cases in a release build; in other builds some of them, which the generator chooses.
package func share<Case>(of cases: [Case], using random: inout SeededGenerator) -> [Case] {
    if factor >= 1 { return cases }
    return Array(cases.shuffled(using: &random).prefix(max(Int(Double(cases.count) * factor), 1)))
}

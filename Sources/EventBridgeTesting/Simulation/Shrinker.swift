/// Shrinks the choices of a failed run to those that the failure needs.
///
/// For each matter, the shrinker tries to leave out all choices (see `Choices`). Then it tries to leave out blocks of
/// choices, which it halves down to single choices. In the end it tries smaller values for the choices that are left.
struct Shrinker {
    /// How many runs may be made.
    static let runs = 500
    /// How many steps all runs together may take.
    ///
    /// The limit is in steps because a limit in time would let a slow machine shrink a failure less than a fast one.
    static let steps: UInt64 = 20_000_000
    /// How many nanoseconds of waiting for work outside the world count as one step; half a minute uses up all steps.
    static let waitPerStep: UInt64 = 1_500

    /// Runs a list of choices, and returns the outcome.
    let attempt: (Choices.List) async -> SimulationOutcome

    private(set) var best: SimulationOutcome
    private(set) var list: Choices.List
    private var kind: String
    private var runsLeft = Shrinker.runs
    private var stepsLeft = Shrinker.steps

    init(_ failed: SimulationOutcome, attempt: @escaping (Choices.List) async -> SimulationOutcome) {
        self.attempt = attempt
        best = failed
        list = failed.made
        kind = Self.kind(of: failed)
    }

    /// The kind of a failure: its reason's first line without digits and punctuation, cut off after 40 characters.
    private static func kind(of outcome: SimulationOutcome) -> String {
        String(
            (outcome.failure?.reason ?? "").prefix { $0 != "\n" }.filter { !$0.isNumber && !$0.isPunctuation }.prefix(
                40
            )
        )
    }

    mutating func shrink() async {
        for matter in Set(list.keys.map(\.matter)).sorted() {
            _ = await take(list.filter { $0.key.matter != matter })
        }
        var size = max(1, list.count / 2)
        while isOpen {
            var hasChanged = false
            var start = 0
            while start < list.count, isOpen {
                let places = list.keys.sorted()
                let block = Set(places[start..<min(places.count, start + size)])
                if await take(list.filter { !block.contains($0.key) }) { hasChanged = true } else { start += size }
            }
            if size == 1, !hasChanged { break }
            size = max(1, size / 2)
        }
        for place in list.keys.sorted() {
            while let value = list[place], value > 1, isOpen {
                var smaller = list
                smaller[place] = value / 2
                if !(await take(smaller)) { break }
            }
        }
    }

    private var isOpen: Bool { runsLeft > 0 && stepsLeft > 0 }

    /// Runs a list with fewer or smaller choices, and keeps it if its run has a failure of the same kind.
    private mutating func take(_ shorter: Choices.List) async -> Bool {
        guard isOpen, shorter != list else { return false }
        runsLeft -= 1
        let outcome = await attempt(shorter)
        stepsLeft -= min(stepsLeft, outcome.steps + outcome.waitedOutside / Self.waitPerStep)
        guard outcome.failure != nil, Self.kind(of: outcome) == kind else { return false }
        best = outcome
        // Choices that the run did not come to are not needed.
        list = outcome.made
        return true
    }
}

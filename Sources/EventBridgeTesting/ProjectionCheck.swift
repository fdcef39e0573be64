/// Checks that code that follows a journal comes to the same result if it is interrupted at any of its steps and then
/// started again.
///
/// This finds code that applies an event twice, or not at all, if its process dies at the wrong moment. An example is
/// code that keeps its state in one file, and its position in another:
///
/// ```swift
/// let findings = try await ProjectionCheck.run(
///     fresh: { try Shop(in: makeDirectory()) },
///     following: { shop, steps in
///         for try await step in journal.events(of: BoxShelved.self, after: try shop.position(), follows: false) {
///             guard case .event(let entry) = step else { throw EventsAreMissing() }
///             try shop.add(entry.event)
///             try steps.pass("the box is there")
///             try shop.setPosition(entry.position)
///             try steps.pass("the position is there")
///         }
///     },
///     result: { shop in try shop.boxes() }
/// )
/// #expect(findings.isEmpty)
/// ```
///
/// The check kills no process: `pass` throws an error, which the code has to let through. A killed process would not
/// run the code's `defer` and `catch` blocks, so the code must not commit an open transaction in such a block.
public enum ProjectionCheck {
    /// A step at which ending the run changed the result.
    public struct Finding<Result: Sendable>: Sendable {
        /// The step's number, from 1, among all steps of a run.
        public let step: Int
        /// The name that the code gave to the step.
        public let name: String
        /// The result of an uninterrupted run.
        public let expected: Result
        /// The result after a run that ended at this step and a second run to the end.
        public let found: Result
    }

    /// Why the check has no result.
    public enum Unusable: Error, Hashable {
        /// The code passes no step.
        case noSteps
        /// The code has caught the error that `pass` throws, and has gone on.
        case hasGoneOn(afterStep: Int)
    }

    /// The steps of one run.
    public final class Steps {
        private let last: Int
        private(set) var passed = 0
        private(set) var name = ""

        fileprivate init(endingAt last: Int) { self.last = last }

        /// Says that the code has come to this place; throws if the run has to end here.
        public func pass(_ name: String) throws {
            if passed == last { throw EndOfRun() }
            passed += 1
            self.name = name
            if passed == last { throw EndOfRun() }
        }

        fileprivate var hasEnded: Bool { passed == last }
    }

    private struct EndOfRun: Error {}

    /// Interrupts one run at each step of the code, lets the next run finish, and returns the steps at which this
    /// changed the result.
    ///
    /// - Parameters:
    ///   - isolation: the actor on which the closures run; the caller's by default.
    ///   - fresh: makes an empty store.
    ///   - follow: reads the position of the store, applies the events after it, and passes a step after each change of
    ///     the store. It returns at the newest event.
    ///   - result: returns the state in the store.
    /// - Throws: ``Unusable``, and the errors of the three closures.
    public static func run<Store, Result: Equatable & Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        fresh: () throws -> Store,
        following follow: (Store, Steps) async throws -> Void,
        result: (Store) throws -> Result
    ) async throws -> [Finding<Result>] {
        let straight = Steps(endingAt: .max)
        let store = try fresh()
        try await follow(store, straight)
        let expected = try result(store)
        guard straight.passed > 0 else { throw Unusable.noSteps }
        var findings: [Finding<Result>] = []
        for last in 1...straight.passed {
            let store = try fresh()
            let steps = Steps(endingAt: last)
            do {
                try await follow(store, steps)
                if steps.hasEnded { throw Unusable.hasGoneOn(afterStep: last) }
            } catch is EndOfRun {
                try await follow(store, Steps(endingAt: .max))
            }
            let found = try result(store)
            if found != expected {
                findings.append(Finding(step: last, name: steps.name, expected: expected, found: found))
            }
        }
        return findings
    }
}

import DomainEvents
import Testing

@testable import EventRouting

@Suite("What becomes of an event that an earlier host owed")
struct RecoveryPlanTests {
    private typealias Receiver = RecoveryPlan.Receiver

    private static func plan(
        _ receiver: Receiver?,
        wasSpecified: Bool,
        attempts: Int = 1,
        strikes: [String] = []
    ) -> RecoveryPlan {
        RecoveryPlan(
            of: "Counted",
            owedTo: "canvas",
            wasSpecified: wasSpecified,
            attempts: attempts,
            strikes: strikes,
            receiver: receiver
        )
    }

    private static let gone = "there is no worker \"canvas\" any more since the host was started again"
    private static let unwanted =
        "worker \"canvas\" does not subscribe to Counted any more since the host was started again"

    @Test("J14: each receiver, each subscription and each number of strikes")
    func rows() {
        for wasSpecified in [true, false] {
            for strikes in [[], ["x"], ["x", "y"], ["x", "y", "z"]] {
                #expect(
                    Self.plan(nil, wasSpecified: wasSpecified, strikes: strikes)
                        == .letter(.workerUnavailable, reasons: strikes + [Self.gone])
                )
                for limit in [nil, 1, 2, 3] {
                    for isSpecified in [true, false] {
                        let plan = Self.plan(
                            Receiver(isSpecified: isSpecified, strikeLimit: limit),
                            wasSpecified: wasSpecified,
                            strikes: strikes
                        )
                        let expected: RecoveryPlan =
                            if wasSpecified, !isSpecified {
                                .letter(.workerUnavailable, reasons: strikes + [Self.unwanted])
                            } else if let limit, strikes.count >= limit {
                                .letter(.crashes, reasons: strikes)
                            } else {
                                .deliver(attempt: 2)
                            }
                        #expect(plan == expected, "\(wasSpecified) \(isSpecified) \(strikes) \(limit ?? 0)")
                    }
                }
            }
        }
    }

    @Test("An event that its receiver cannot take becomes a letter, unless it is one for another reason")
    func refusals() {
        let refusing = { (isSpecified: Bool) in
            Receiver(isSpecified: isSpecified, strikeLimit: 2, refusal: "too large")
        }
        #expect(
            Self.plan(refusing(true), wasSpecified: true, strikes: ["x"])
                == .letter(.workerUnavailable, reasons: ["x", "too large"])
        )
        #expect(
            Self.plan(refusing(true), wasSpecified: true, strikes: ["x", "y"])
                == .letter(.crashes, reasons: ["x", "y"])
        )
        #expect(
            Self.plan(refusing(false), wasSpecified: true) == .letter(.workerUnavailable, reasons: [Self.unwanted])
        )
    }

    @Test("The attempt is one more than any before, at least the second, and never overflows")
    func attempts() {
        for (attempts, next) in [(0, 2), (1, 2), (6, 7), (Int.min, 2), (.max - 1, Int.max), (.max, .max)] {
            let receiver = Receiver(isSpecified: true, strikeLimit: 3)
            #expect(Self.plan(receiver, wasSpecified: true, attempts: attempts) == .deliver(attempt: next))
        }
    }
}

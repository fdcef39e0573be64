import DomainEvents
import Testing

@Suite("Durations as whole numbers")
struct DurationTests {
    @Test(
        "what is negative is nothing, what is too long is the most there is, and a nanosecond is not sent as 0",
        arguments: [
            (.seconds(-1), 0, 0),
            (.zero, 0, 0),
            (Duration(secondsComponent: 0, attosecondsComponent: 999_999_999), 0, 0),
            (.nanoseconds(1), 1, 1),
            (.nanoseconds(1_000_000), 1_000_000, 1),
            (.nanoseconds(1_000_001), 1_000_001, 2),
            (.seconds(5), 5_000_000_000, 5_000),
            (.seconds(18_446_744_073) + .nanoseconds(709_551_615), .max, 18_446_744_073_710),
            (.seconds(18_446_744_073) + .nanoseconds(709_551_616), .max, 18_446_744_073_710),
            (.seconds(Int64.max), .max, 18_446_744_073_710),
        ] as [(Duration, UInt64, UInt64)]
    )
    func whole(duration: Duration, nanoseconds: UInt64, milliseconds: UInt64) {
        #expect(duration.nanoseconds == nanoseconds)
        #expect(duration.milliseconds == milliseconds)
    }
}

import Supervision
import Testing

@Suite("What a child has used, and the limits that it has met")
struct ResourceUsageTests {
    @Test(
        "It reads as a phrase with two digits of a second and one of a mebibyte",
        arguments: [
            (
                ResourceUsage(userTime: .zero, systemTime: .zero, peakMemory: 0),
                "0.00 s of processor time, at most 0.0 MiB"
            ),
            (
                ResourceUsage(userTime: .milliseconds(1_195), systemTime: .milliseconds(60), peakMemory: 14_680_064),
                "1.25 s of processor time, at most 14.0 MiB"
            ),
            (
                ResourceUsage(userTime: .milliseconds(39), systemTime: .zero, peakMemory: (3 << 20) + (1 << 19)),
                "0.03 s of processor time, at most 3.5 MiB"
            ),
            (
                ResourceUsage(userTime: .zero, systemTime: .zero, peakMemory: (1 << 20) - 1),
                "0.00 s of processor time, at most 0.9 MiB"
            ),
            (
                ResourceUsage(userTime: .milliseconds(39), systemTime: .zero, peakMemory: nil),
                "0.03 s of processor time"
            ),
        ] as [(ResourceUsage, String)]
    )
    func phrase(usage: ResourceUsage, text: String) {
        #expect(usage.description == text)
    }

    @Test("A signal that stands for a limit names it; others do not")
    func limits() {
        // The numbers are Linux's and Darwin's.
        let time = ExitReason.signaled(number: 24, coreDumped: false)
        let size = ExitReason.signaled(number: 25, coreDumped: true)
        let killed = ExitReason.signaled(number: 9, coreDumped: false)
        #expect(time.exceededLimit == .processorTime && time.signalName == "SIGXCPU")
        #expect(time.description == "killed by SIGXCPU (24), its limit of processor time")
        #expect(size.exceededLimit == .fileSize)
        #expect(size.description == "killed by SIGXFSZ (25), its limit for the size of a file, core dumped")
        #expect(killed.exceededLimit == nil && killed.signalName == "SIGKILL")
        #expect(ExitReason.exited(status: 0).exceededLimit == nil && ExitReason.exited(status: 0).signalName == nil)
        #expect(ExitReason.signaled(number: 60, coreDumped: false).signalName == nil)
    }
}

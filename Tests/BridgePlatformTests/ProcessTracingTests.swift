import BridgePlatform
import Testing

@Suite("Whether a debugger holds a process")
struct ProcessTracingTests {
    @Test("this process is not held, and one that is not there neither")
    func notTraced() {
        #expect(!ProcessTracing.isTraced(.max))
    }

    @Test(
        "the tracer is read from a status",
        arguments: [
            ("Name:\tworker\nState:\tt (tracing stop)\nTracerPid:\t4711\nUid:\t0\t0\n", 4711),
            ("Name:\tTracerPid\nTracerPid:\t0\n", 0), ("Name:\tworker\n", 0), ("", 0), ("TracerPid:\tx\n", 0),
            ("TracerPid:\t99999999999999999999\n", 0),
        ]
    )
    func tracer(status: String, process: Int32) {
        #expect(ProcessTracing.tracer(in: Array(status.utf8)) == process)
    }
}

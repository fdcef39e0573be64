import BridgePlatform
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

extension PlatformTests {
    #if os(Linux)
    @Suite("Processes by the mark that they were started with")
    struct MarkedProcessesTests {
        @Test("one that becomes another program again and again is seen at each look")
        func becomingAnotherProgram() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let again = #"exec /bin/sh -c "$0" "$0""#
                    let value = MarkedProcesses.Mark().value(1)
                    var request = SpawnRequest(executable: "/bin/sh")
                    request.arguments = ["-c", again, again]
                    request.environment = [MarkedProcesses.Mark.variable: value]
                    let child = try ChildProcess.spawn(request)
                    // With each exec it has no environment for a moment, which one look in fifty would meet.
                    let seen = (0..<3_000).count { _ in MarkedProcesses.mark(of: child.processIdentifier) == value }
                    try child.signal(SIGKILL)
                    _ = child.waitForExit()
                    // A look gives up after a fifth of a second in which the process got no processor inside an exec.
                    #expect(seen > 2_990)
                }
            }
        }
    }
    #endif
}

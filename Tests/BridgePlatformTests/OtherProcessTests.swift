import BridgePlatform
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

extension PlatformTests {
    @Suite("A process whose end is waited for")
    struct OtherProcessTests {
        @Test("its end is seen once it has come, before and after its parent has taken its status")
        func end() throws {
            var request = SpawnRequest(executable: "/bin/sleep")
            request.arguments = ["1000"]
            let child = try ChildProcess.spawn(request)
            let process = try OtherProcess(child.processIdentifier)
            #expect(!process.ends(withinMilliseconds: 0))
            try child.signal(SIGKILL)
            #expect(process.ends(withinMilliseconds: 240_000))
            #expect(child.waitForExit().status == .signaled(signal: SIGKILL, coreDumped: false))
            #expect(process.ends(withinMilliseconds: 0))
        }

        @Test("there is none with a number that no process has")
        func none() {
            #expect(throws: SystemError.self) { try OtherProcess(.max) }
        }
    }
}

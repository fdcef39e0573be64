import Locks
import TestSupport
import Testing

@testable import BridgePlatform

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

extension PlatformTests {
    #if os(Linux)
    @Suite("A child that another process traces")
    struct TracedChildTests {
        /// Traces a process (PTRACE_SEIZE), says so, and lets go of it when its input ends.
        private static let tracer = """
            import ctypes, sys
            answer = ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), None, None)
            print("held" if answer == 0 else "none", flush=True)
            sys.stdin.read()
            """

        private static func isZombie(_ process: pid_t) -> Bool {
            let file = open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
            defer { close(file) }
            return String(decoding: readToEnd(file), as: UTF8.self).contains(") Z ")
        }

        @Test("is not looked at without a pause while it is dead and held, and its exit is told once it is let go")
        func deadAndHeld() throws {
            try withPoller { poller in
                let child = try ChildProcess.spawn(shell("exec sleep 1000"))
                let input = try FileDescriptor.pipe()
                let output = try FileDescriptor.pipe()
                var request = SpawnRequest(executable: "/usr/bin/python3")
                request.arguments = ["-c", Self.tracer, "\(child.processIdentifier)"]
                request.standardInput = .descriptor(input.reading.rawValue)
                request.standardOutput = .descriptor(output.writing.rawValue)
                let tracer = try? ChildProcess.spawn(request)
                let outputNumber = output.reading.rawValue
                output.writing.close()
                input.reading.close()
                var answer = [UInt8](repeating: 0, count: 4)
                let count = retryingInterrupted { read(outputNumber, &answer, 4) }
                let isHeld = count == 4 && answer == Array("held".utf8)

                let exits = Mailbox<ChildExit>()
                try child.onExit(on: poller) { exits.put($0) }
                try child.signal(SIGKILL)
                if isHeld {
                    waitUntil { Self.isZombie(child.processIdentifier) }
                    // The child's registration is the poller's only one.
                    waitUntil { poller.lock.withLock { poller.registrations.map(\.interest) } == [[]] }
                    #expect(exits.contents.isEmpty)
                } else {
                    CurrentProcess.report("not tested: a dead child that is traced, as no process can trace another")
                }
                input.writing.close()
                #expect(try exits.wait().map(\.status) == [.signaled(signal: SIGKILL, coreDumped: false)])
                _ = tracer?.waitForExit()
                output.reading.close()
            }
        }
    }
    #endif
}

import BridgePlatform
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

extension PlatformTests {
    @Suite("Children that outlive their objects")
    struct AbandonedChildTests {
        @Test("leave the process table when they end, and take their groups with them; nothing of the wait stays")
        func leaveTheProcessTable() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let before = try CurrentProcess.openDescriptorCount()
                    let pipe = try FileDescriptor.pipe()
                    var request = shell("sleep 1000 & echo; exec sleep 1000")
                    request.standardOutput = .descriptor(pipe.writing.rawValue)
                    var processes: [pid_t] = []
                    for _ in 0..<3 {
                        // The object is released at once.
                        processes.append(try ChildProcess.spawn(request).processIdentifier)
                        var byte: UInt8 = 0
                        #expect(read(pipe.reading.rawValue, &byte, 1) == 1)
                    }
                    pipe.writing.close()
                    for process in processes {
                        #expect(kill(process, SIGKILL) == 0)
                        // A zombie could still be signalled.
                        waitUntil { kill(process, 0) != 0 }
                    }
                    // The grandchildren hold the pipe, so it can end only because they end.
                    #expect(readToEnd(pipe.reading.rawValue).isEmpty)
                    pipe.reading.close()
                    // The thread that has waited closes its descriptors in its own time.
                    waitUntil { (try? CurrentProcess.openDescriptorCount()) ?? .max <= before }
                }
            }
        }

        @Test("leave the process table where one ends alone, and another begins to be waited for afterwards")
        func oneByOne() async {
            await #expect(processExitsWith: .success) {
                for _ in 0..<3 {
                    let process = try ChildProcess.spawn(shell("exec sleep 1000")).processIdentifier
                    #expect(kill(process, SIGKILL) == 0)
                    waitUntil { kill(process, 0) != 0 }
                }
            }
        }
    }
}

import BridgePlatform
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

extension PlatformTests {
    #if os(Linux)
    @Suite("A stream is written to without waiting for its reader")
    struct UnwaitedOutputTests {
        @Test("A pipe that cannot be opened again takes what it has room for, and nothing once its reader is gone")
        func notOpenedAgain() async {
            await #expect(processExitsWith: .success) {
                let pipe = try FileDescriptor.pipe()
                let writing = SharedDescriptor(pipe.writing)
                var reading: SharedDescriptor? = SharedDescriptor(pipe.reading)
                // Opening fails without a free descriptor, as it does with another user's pipe.
                var limit = rlimit(rlim_cur: 200, rlim_max: 200)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                var taken: [SharedDescriptor] = []
                while let one = try? SharedDescriptor(.duplicate(writing.rawValue)) { taken.append(one) }
                #expect(open("/proc/self/fd/\(writing.rawValue)", O_WRONLY | O_NONBLOCK | O_CLOEXEC) < 0)

                let output = UnwaitedOutput(writing.rawValue)
                #expect(output.write(Array("a line\n".utf8)[...]) == 7)
                // The pipe's room comes to an end, and the writes return all the same.
                let many = [UInt8](repeating: 0, count: 100_000)[...]
                var count = 7
                while case let more = output.write(many), more > 0 { count += more }
                #expect(count > 7)
                var bytes = [UInt8](repeating: 1, count: count)
                let found = read(reading?.rawValue ?? -1, &bytes, count)
                #expect(found == count)
                #expect(bytes.prefix(7) == Array("a line\n".utf8)[...])
                #expect(output.write(Array("again\n".utf8)[...]) == 6)

                // SIGPIPE, which is not blocked in this thread, would end the process.
                reading = nil
                #expect(output.write(Array("lost\n".utf8)[...]) == 0)
                withExtendedLifetime((writing, taken)) {}
            }
        }

        @Test("A socket whose reader is gone takes nothing, and raises no signal")
        func socketWithoutReader() async {
            await #expect(processExitsWith: .success) {
                let pair = try UnixSocket.pair()
                let output = UnwaitedOutput(pair.first.rawValue)
                #expect(output.write(Array("a line\n".utf8)[...]) == 7)
                pair.second.close()
                #expect(output.write(Array("lost\n".utf8)[...]) == 0)
                pair.first.close()
            }
        }
    }
    #endif
}

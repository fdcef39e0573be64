import BridgePlatform
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

@Suite("Descriptors that a service manager passes")
struct PassedDescriptorsTests {
    private func passed(_ environment: [String: String]) throws -> PassedDescriptors? {
        try PassedDescriptors(environment: { environment[$0] }, process: 42)
    }

    @Test("are those behind the standard streams, with the names that the manager gives them")
    func taken() throws {
        let found = try #require(
            try passed(["LISTEN_PID": "42", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "control:other"])
        )
        #expect(found.numbers == 3..<5)
        #expect(found.names == ["control", "other"])
        let unnamed = try #require(try passed(["LISTEN_PID": "42", "LISTEN_FDS": "1"]))
        #expect(unnamed.numbers == 3..<4)
        #expect(unnamed.names.isEmpty)
    }

    @Test(
        "are none where the environment names none",
        arguments: [[:], ["LISTEN_FDS": "1"], ["LISTEN_PID": "42"], ["LISTEN_PID": "42", "LISTEN_FDS": "0"]]
    )
    func none(environment: [String: String]) throws {
        #expect(try passed(environment) == nil)
    }

    @Test("for another process are refused with both numbers")
    func otherProcess() {
        let error = #expect(throws: PassedDescriptorsError.self) {
            try passed(["LISTEN_PID": "41", "LISTEN_FDS": "1"])
        }
        #expect(error == .forAnotherProcess(41, own: 42))
        #expect(error?.description.contains("process 41 (LISTEN_PID), and this is process 42") == true)
    }

    @Test(
        "are not guessed from what is no number",
        arguments: [
            ("LISTEN_PID", "me"), ("LISTEN_PID", "0"), ("LISTEN_PID", "-42"), ("LISTEN_FDS", ""), ("LISTEN_FDS", "one"),
            ("LISTEN_FDS", "-1"), ("LISTEN_FDS", "2147483647"), ("LISTEN_FDS", "99999999999"),
        ]
    )
    func malformed(variable: String, value: String) {
        var environment = ["LISTEN_PID": "42", "LISTEN_FDS": "1"]
        environment[variable] = value
        let error = #expect(throws: PassedDescriptorsError.self) { try passed(environment) }
        #expect(error == .malformed(variable, found: value))
    }
}

extension PlatformTests {
    @Suite("A socket that another process has made")
    struct PassedSocketKindTests {
        @Test("is told from descriptors that accept no streams")
        func kinds() throws {
            let path = "/tmp/event-bridge-kind-\(randomUInt64())"
            defer { unlink(path) }
            let bound = try UnixSocket.bind(to: path)
            #expect(try UnixSocket.kind(of: bound.rawValue) == .notListening)
            try UnixSocket.startListening(bound.rawValue, backlog: 1)
            #expect(try UnixSocket.kind(of: bound.rawValue) == .listening(path: path))
            let unnamed = try UnixSocket.unconnected()
            #expect(try UnixSocket.kind(of: unnamed.rawValue) == .notListening)
            #if canImport(Glibc)
            let (stream, datagram) = (CInt(SOCK_STREAM.rawValue), CInt(SOCK_DGRAM.rawValue))
            #else
            let (stream, datagram) = (SOCK_STREAM, SOCK_DGRAM)
            #endif
            let datagrams = FileDescriptor(owning: socket(AF_UNIX, datagram, 0))
            #expect(try UnixSocket.kind(of: datagrams.rawValue) == .notStream)
            let internet = FileDescriptor(owning: socket(AF_INET, stream, 0))
            #expect(try UnixSocket.kind(of: internet.rawValue) == .notLocal)
            let pipe = try FileDescriptor.pipe()
            #expect(try UnixSocket.kind(of: pipe.reading.rawValue) == .noSocket)
            #expect(try UnixSocket.kind(of: 1_000_000) == .notOpen)
            withExtendedLifetime(pipe) {}
        }
    }
}

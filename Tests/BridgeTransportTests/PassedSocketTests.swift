import BridgePlatform
import BridgeProtocol
import NamedSockets
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

@Suite("A listening socket that a service manager has made", .serialized, .timeLimit(.minutes(5)))
struct PassedSocketTests {
    @Test("is used as it is: who connects is welcomed, and its file is there when all is over")
    func used() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/s"
        let managers = try UnixSocket.listen(at: path)
        let inherited = try FileDescriptor.duplicate(managers.rawValue).release()
        #expect(fcntl(inherited, F_SETFD, 0) == 0)
        let socket = try PassedSocket(owning: inherited, named: "control")
        #expect(socket.path == path)
        #expect(socket.user == CurrentProcess.user)
        #expect(fcntl(inherited, F_GETFD) & FD_CLOEXEC != 0)
        let host = try AttachingHost(on: socket)
        let client = try AttachingClient(to: path)
        client.waitForWelcome()
        client.link.publish(1, from: LinkPair.workerSource)
        #expect(host.books.wait { $0.events == 1 })
        // The listener does not look after a file that belongs to the service manager.
        unlink(path)
        host.listener.lookNow()
        let hasLooked = Shared(false)
        host.poller.perform { hasLooked.change { $0 = true } }
        hasLooked.wait { $0 }
        #expect(!OperatingSystem.fileExists(path))
        client.stop()
        host.stop()
        withExtendedLifetime(managers) {}
    }

    @Test("stays with the manager: neither its file nor a lock is made or removed, and who comes later is not refused")
    func stays() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/s"
        let managers = try UnixSocket.listen(at: path)
        do {
            let socket = try PassedSocket(owning: FileDescriptor.duplicate(managers.rawValue).release(), named: nil)
            let host = try AttachingHost(on: socket)
            #expect(!OperatingSystem.fileExists(path + ".lock"))
            host.stop()
        }
        #expect(OperatingSystem.fileExists(path))
        let late = try UnixSocket.connect(to: path)
        #expect(try UnixSocket.accept(from: managers.rawValue) != nil)
        withExtendedLifetime(late) {}
    }

    @Test("is taken once, and what says that it is there is gone, also where it is refused")
    func forgotten() async {
        await #expect(processExitsWith: .success) {
            setenv("LISTEN_PID", "\(getpid())", 1)
            setenv("LISTEN_FDS", "two", 1)
            setenv("LISTEN_FDNAMES", "a:b", 1)
            let error = #expect(throws: PassedSocketError.self) { try PassedSocket.take() }
            #expect(error == .descriptors(.malformed("LISTEN_FDS", found: "two")))
            for variable in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { #expect(getenv(variable) == nil) }
            let again = try PassedSocket.take()
            #expect(again == nil)
        }
    }

    @Test("is refused if it is one of several descriptors, which stay open, and are kept from other programs")
    func several() async {
        // In a process of its own, no other test opens a file with one of these numbers.
        await #expect(processExitsWith: .success) {
            let pipe = try FileDescriptor.pipe()
            // Above the numbers that the runtime uses, and below the lowest limit of a process.
            let first = try FileDescriptor.duplicate(pipe.writing.rawValue, atLeast: 200).release()
            // Other code may have closed the number between them.
            let second = try FileDescriptor.duplicate(pipe.writing.rawValue, atLeast: first + 2).release()
            defer { for number in [first, second] { FileDescriptor(owning: number).close() } }
            try #require(second == first + 2)
            for number in [first, second] { try #require(fcntl(number, F_SETFD, 0) == 0) }
            let passed = try #require(
                try PassedDescriptors(
                    environment: { ["LISTEN_PID": "42", "LISTEN_FDS": "3", "LISTEN_FDNAMES": "a:b:c"][$0] },
                    process: 42,
                    first: first
                )
            )
            let error = #expect(throws: PassedSocketError.self) { try PassedSocket.take(from: passed) }
            #expect(error == .several(3, names: ["a", "b", "c"]))
            for number in [first, second] { #expect(fcntl(number, F_GETFD) == FD_CLOEXEC) }
        }
    }

    private static func aPipe() throws -> CInt {
        let pipe = try FileDescriptor.pipe()
        return pipe.reading.release()
    }

    /// Identifies the pipe or socket behind a number; nil if the number is not open.
    private static func file(at number: CInt) -> [UInt64]? {
        var status = stat()
        guard fstat(number, &status) == 0 else { return nil }
        return [UInt64(truncatingIfNeeded: status.st_dev), UInt64(truncatingIfNeeded: status.st_ino)]
    }

    @Test("is refused by name if no stream can come from it, and closed")
    func unfit() throws {
        for (make, phrase) in [
            ({ try Self.aPipe() }, "is no socket"),
            ({ try UnixSocket.unconnected().release() }, "is a socket at which no process listens"),
            ({ 1_000_000 }, "is not open"),
        ] as [(() throws -> CInt, String)] {
            let number = try make()
            let before = Self.file(at: number)
            let error = #expect(throws: PassedSocketError.self) { try PassedSocket(owning: number, named: "control") }
            // Another test may already have opened another file, which got the number.
            let after = Self.file(at: number)
            #expect(after == nil || after != before)
            #expect(
                error?.description
                    == """
                    the descriptor \(number) (control) that the service manager passes \(phrase); expected a listening stream socket with a \
                    path (ListenStream=/…)
                    """
            )
        }
    }

    #if os(Linux)
    @Test("is closed, too, if the system does not say what it is")
    func unknown() async {
        await #expect(processExitsWith: .success) {
            let pair = try UnixSocket.pair()
            let number = pair.second.release()
            guard MissingSystemCalls.installForSocketNames() else {
                return CurrentProcess.report("not tested: a socket without an answer, as this system has no filters")
            }
            let error = #expect(throws: PassedSocketError.self) { try PassedSocket(owning: number, named: nil) }
            guard case .system(number, let cause)? = error else {
                Issue.record("\(error.debugDescription)")
                return
            }
            #expect(cause.code == ENOBUFS)
            // The other end sees that this one is closed. Its number may already be that of another file: in a new
            // process the runtime is still starting up.
            var byte: UInt8 = 0
            #expect(recv(pair.first.rawValue, &byte, 1, CInt(MSG_DONTWAIT)) == 0)
        }
    }
    #endif
}

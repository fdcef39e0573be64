import BridgePlatform
import BridgeProtocol
import BridgeTransport
import NamedSockets
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What connecting processes may do, and what that costs the others.
@Suite("A listener and those who connect", .serialized, .timeLimit(.minutes(5)))
struct SocketListenerTests {
    private static func receiveToEnd(_ socket: CInt) -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let outcome = buffer.withUnsafeMutableBytes { UnixSocket.receive(socket, into: $0, blocking: true) }
            guard case .transferred(let count) = outcome else { return all }
            all += buffer[..<count]
        }
    }

    private static func send(_ socket: CInt, _ bytes: some Sequence<UInt8>) {
        _ = Array(bytes).withUnsafeBytes { UnixSocket.send(socket, $0) }
    }

    @Test("a client that connects and says hello is welcomed, and its events arrive")
    func attached() throws {
        let directory = try TemporaryDirectory()
        let host = try AttachingHost(at: directory.path + "/s")
        let client = try AttachingClient(to: directory.path + "/s")
        client.waitForWelcome()
        client.link.publish(1, from: LinkPair.workerSource)
        #expect(host.books.wait { $0.events == 1 })
        #expect(host.listener.unintroducedCount == 0)
        client.stop()
        host.stop()
    }

    @Test("F6: a process of another user is sent away before anything of it is read, and reported by its number")
    func otherUser() async {
        guard geteuid() == 0 else {
            CurrentProcess.report("not tested: F6, as only the superuser can be two users")
            return
        }
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            chown(directory.path, 65_534, 65_534)
            #expect(seteuid(65_534) == 0)
            let host = try AttachingHost(at: directory.path + "/s")
            #expect(seteuid(0) == 0)
            let stranger = try UnixSocket.connect(to: directory.path + "/s")
            Self.send(stranger.rawValue, frame(.hello(LinkPair.hello())))
            #expect(Self.receiveToEnd(stranger.rawValue).isEmpty)
            host.waitForReport(.otherUser(0))
            #expect(host.books.value.arrived == 0)
            #expect(host.reports.value.first?.description.contains("came from user 0 and was closed") == true)
            host.stop()
        }
    }

    @Test("F7: 10,000 that connect and say nothing are bounded, and others attach and work meanwhile")
    func flood() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/s"
        let host = try AttachingHost(at: path)
        let attached = try AttachingClient(to: path)
        attached.waitForWelcome()
        let total = 10_000
        let events = 1_000
        let publisher = try PlatformThread.startJoinable(name: "publisher") {
            for number in 1...events { attached.link.publish(number, from: LinkPair.workerSource) }
        }
        var held: [SharedDescriptor] = []
        for number in 0..<total {
            held.append(SharedDescriptor(try UnixSocket.connect(to: path)))
            if held.count > 100 { held.removeFirst() }
            guard number % 1_000 == 500 else { continue }
            #expect(host.listener.unintroducedCount <= SocketListener.Limits().unintroduced)
            let late = try AttachingClient(to: path)
            late.waitForWelcome()
            late.stop()
        }
        publisher.join()
        #expect(host.books.wait { $0.events == events })
        #expect(attached.delegate.end.value == nil)
        #expect(host.reports.wait { $0.contains { $0.matter == .crowded } })
        attached.stop()
        host.stop()
    }

    @Test("F7: a client that says no hello in time is cut off, whether it has said nothing or begun")
    func silence() throws {
        let directory = try TemporaryDirectory()
        let host = try AttachingHost(at: directory.path + "/s") { $0.timeout = 20_000_000 }
        let silent = try UnixSocket.connect(to: directory.path + "/s")
        let slow = try UnixSocket.connect(to: directory.path + "/s")
        Self.send(slow.rawValue, frame(.hello(LinkPair.hello())).prefix(5))
        #expect(Self.receiveToEnd(silent.rawValue).isEmpty)
        _ = Self.receiveToEnd(slow.rawValue)
        host.waitForReport(.silent)
        host.books.wait { $0.live.isEmpty }
        #expect(host.books.value.introduced == 0)
        host.stop()
    }

    @Test("F8: without descriptors accepting pauses, waiting clients are turned away, and later all is as before")
    func noDescriptors() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let path = directory.path + "/s"
            let host = try AttachingHost(at: path) { $0.timeout = 10_000_000_000 }
            var sockets: [SharedDescriptor] = []
            var used = 0
            lowerDescriptorLimit()
            var fill: [SharedDescriptor] = []
            func nextSocket() -> SharedDescriptor {
                defer { used += 1 }
                return sockets[used]
            }
            // While descriptors are short, no socket can be made. So there are always enough for the rest of the test.
            func makeSockets() throws {
                while sockets.count < used + 3 {
                    do {
                        sockets.append(SharedDescriptor(try UnixSocket.unconnected()))
                    } catch {
                        if fill.popLast() == nil { throw error }
                    }
                }
            }
            func connect() throws {
                let socket = nextSocket()
                try UnixSocket.connect(socket.rawValue, to: path)
                #expect(Self.receiveToEnd(socket.rawValue).isEmpty)
            }
            func isShortageReported() -> Bool {
                host.reports.value.contains { if case .shortage = $0.matter { true } else { false } }
            }
            // The test runner may close a descriptor of its own. A connection that gets in with that descriptor ends at
            // its deadline, and then no descriptor is free again. While accepting pauses, no descriptors are filled up:
            // the reserve's place must not be taken.
            repeat {
                try makeSockets()
                while let copy = try? FileDescriptor.duplicate(sockets[0].rawValue) {
                    fill.append(SharedDescriptor(copy))
                }
                let told = host.reports.value.count
                try connect()
                try #require(host.reports.wait { $0.count > told })
                // The runner has fewer descriptors than that.
                try #require(used < 20)
            } while !isShortageReported()
            try connect()
            // The listener pauses 50 ms and more; without pauses it would fail tens of thousands of times.
            #expect(host.reports.value.reduce(0) { $0 + $1.count } < 20)
            fill = []
            let last = nextSocket()
            try UnixSocket.connect(last.rawValue, to: path)
            Self.send(last.rawValue, frame(.hello(LinkPair.hello())))
            #expect(host.books.wait { $0.introduced == 1 })
            // Optimised code would close the sockets after their last use.
            withExtendedLifetime(sockets) {}
            host.stop()
        }
    }

    #if os(Linux)
    @Test("F9: descriptors passed with a frame are not installed and end the link by name", arguments: [false, true])
    func passedDescriptors(isIntroduced: Bool) async {
        await #expect(processExitsWith: .success) { [isIntroduced = isIntroduced as Bool] in
            let directory = try TemporaryDirectory()
            let host = try AttachingHost(at: directory.path + "/s")
            let client = try UnixSocket.connect(to: directory.path + "/s")
            if isIntroduced {
                Self.send(client.rawValue, frame(.hello(LinkPair.hello())))
                host.books.wait { $0.introduced == 1 }
            }
            waitForStartedRuntime()
            let before = try CurrentProcess.openDescriptorCount()
            let bytes = isIntroduced ? frame(.heartbeat) : frame(.hello(LinkPair.hello()))
            #expect(sendDescriptors(253, with: bytes, over: client.rawValue) == bytes.count)
            #expect(host.books.wait { !$0.ends.isEmpty })
            #expect(host.books.value.ends == [.violation("it passed descriptors, which this side does not take")])
            #expect(try CurrentProcess.openDescriptorCount() <= before + (isIntroduced ? 0 : 1))
            host.stop()
        }
    }
    #endif

    @Test(
        "F10: a client that goes, or stops sending, at any byte of its hello leaves nothing behind",
        arguments: [false, true]
    )
    func goneAtEachByte(isHalfClosed: Bool) async {
        await #expect(processExitsWith: .success) { [isHalfClosed = isHalfClosed as Bool] in
            let directory = try TemporaryDirectory()
            let host = try AttachingHost(at: directory.path + "/s")
            let hello = frame(.hello(LinkPair.hello()))
            try leavingNoDescriptor {
                for count in 0...hello.count {
                    let client = try UnixSocket.connect(to: directory.path + "/s")
                    Self.send(client.rawValue, hello.prefix(count))
                    guard isHalfClosed else { continue }
                    UnixSocket.shutdownWrite(client.rawValue)
                    let answer = Self.receiveToEnd(client.rawValue)
                    // Only a whole hello is answered.
                    #expect(answer.isEmpty == (count < hello.count))
                }
                waitUntil { host.listener.unintroducedCount == 0 && host.books.value.live.isEmpty }
            }
            #expect(host.books.value.introduced <= 1)
            let next = try AttachingClient(to: directory.path + "/s")
            next.waitForWelcome()
            next.stop()
            host.stop()
        }
    }

    @Test(
        "F15: a removed socket is noticed, reported and made again, and connected clients do not notice",
        arguments: [false, true]
    )
    func removedSocket(withDirectory: Bool) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/run/s"
        // The listener looks by itself in one case, and is asked to in the other.
        let host = try AttachingHost(at: path) { if withDirectory { $0.lookInterval = 5_000_000 } }
        let client = try AttachingClient(to: path)
        client.waitForWelcome()
        if withDirectory {
            #expect(rename(directory.path + "/run", directory.path + "/gone") == 0)
        } else {
            unlink(path)
            host.listener.lookNow()
        }
        host.waitForReport(.recreated)
        client.link.publish(1, from: LinkPair.workerSource)
        #expect(host.books.wait { $0.events == 1 })
        let next = try AttachingClient(to: path)
        next.waitForWelcome()
        #expect(throws: NamedSocketError.alreadyRunning(path, pid: getpid())) { _ = try NamedSocket(at: path) }
        next.stop()
        client.stop()
        host.stop()
        // A look that was under way makes the files once more and removes them.
        waitUntil { access(path, F_OK) != 0 && access(path + ".lock", F_OK) != 0 }
    }

    @Test(
        "F15: what lies in the socket's place is reported once and left alone, and the socket comes back after it"
    )
    func replacedSocket() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/s"
        let host = try AttachingHost(at: path)
        unlink(path)
        mkdir(path, 0o700)
        for _ in 0..<10 { host.listener.lookNow() }
        #expect(host.reports.wait { $0.contains { "\($0)".contains("a directory lies there") } })
        rmdir(path)
        host.listener.lookNow()
        host.waitForReport(.recreated)
        #expect(host.reports.value.reduce(0) { $0 + ($1.matter == .recreated ? 0 : $1.count) } == 1)
        let client = try AttachingClient(to: path)
        client.waitForWelcome()
        client.stop()
        host.stop()
    }
}

private func lowerDescriptorLimit() {
    var limit = rlimit()
    #if os(Linux)
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
    let resource = RLIMIT_NOFILE
    #endif
    getrlimit(resource, &limit)
    limit.rlim_cur = 128
    setrlimit(resource, &limit)
}

#if os(Linux)
/// Sends bytes together with `count` descriptors, each of them this socket itself.
private func sendDescriptors(_ count: Int, with bytes: [UInt8], over socket: CInt) -> Int {
    // A control message as the kernel lays it out: length, level, type, the descriptors, padding.
    var control = [UInt64](repeating: 0, count: 2 + (count + 1) / 2)
    control[0] = UInt64(16 + count * 4)
    control[1] = UInt64(SOL_SOCKET) | UInt64(SCM_RIGHTS) << 32
    return control.withUnsafeMutableBytes { control in
        for index in 0..<count { control.storeBytes(of: socket, toByteOffset: 16 + index * 4, as: CInt.self) }
        var bytes = bytes
        return bytes.withUnsafeMutableBytes { bytes in
            var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
            return withUnsafeMutablePointer(to: &vector) { vector in
                var message = msghdr()
                message.msg_iov = vector
                message.msg_iovlen = 1
                message.msg_control = control.baseAddress
                message.msg_controllen = control.count
                return sendmsg(socket, &message, 0)
            }
        }
    }
}
#endif

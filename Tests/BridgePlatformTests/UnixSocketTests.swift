import BridgePlatform
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

private func send(_ socket: CInt, _ bytes: [UInt8]) -> IOOutcome {
    bytes.withUnsafeBytes { UnixSocket.send(socket, $0) }
}

private func receive(_ socket: CInt, _ count: Int, blocking: Bool = false) -> (outcome: IOOutcome, bytes: [UInt8]) {
    var buffer = [UInt8](repeating: 0, count: count)
    let outcome = buffer.withUnsafeMutableBytes { UnixSocket.receive(socket, into: $0, blocking: blocking) }
    guard case .transferred(let received) = outcome else { return (outcome, []) }
    return (outcome, Array(buffer[..<received]))
}

extension PlatformTests {
    @Suite("A socket's outcomes are values, not surprises")
    struct UnixSocketTransferTests {
        @Test
        func bytesArriveAsTheyWereSent() throws {
            let pair = try UnixSocket.pair()
            #expect(send(pair.first.rawValue, [1, 2, 3]) == .transferred(3))
            #expect(receive(pair.second.rawValue, 10).bytes == [1, 2, 3])
        }

        @Test
        func anEmptySocketWouldBlock() throws {
            let pair = try UnixSocket.pair()
            #expect(receive(pair.second.rawValue, 10).outcome == .wouldBlock)
        }

        @Test
        func anEmptyBufferIsNotTakenForTheEnd() throws {
            let pair = try UnixSocket.pair()
            #expect(receive(pair.second.rawValue, 0).outcome == .transferred(0))
        }

        @Test
        func aFullSocketTakesAPartAndThenWouldBlockAndLosesNothing() throws {
            let pair = try UnixSocket.pair()
            // More than a socket holds.
            let chunk = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            var sent: [UInt8] = []
            var sawShortWrite = false
            while case .transferred(let count) = send(pair.first.rawValue, chunk) {
                sent += chunk[..<count]
                if count < chunk.count { sawShortWrite = true }
            }
            #expect(sawShortWrite)
            #expect(send(pair.first.rawValue, chunk) == .wouldBlock)
            UnixSocket.shutdownWrite(pair.first.rawValue)
            #expect(readToEnd(pair.second.rawValue) == sent)
        }

        @Test
        func severalBuffersLeaveInOneRow() throws {
            let pair = try UnixSocket.pair()
            let (first, second): ([UInt8], [UInt8]) = ([1, 2], [3, 4, 5])
            first.withUnsafeBytes { first in
                second.withUnsafeBytes { second in
                    #expect(UnixSocket.send(pair.first.rawValue, first, second) == .transferred(5))
                    let vectors = [iovec(reading: second), iovec(reading: first), iovec(reading: second)]
                    vectors.withUnsafeBufferPointer {
                        #expect(UnixSocket.send(pair.first.rawValue, vectors: $0) == .transferred(8))
                    }
                }
            }
            #expect(receive(pair.second.rawValue, 100).bytes == [1, 2, 3, 4, 5, 3, 4, 5, 1, 2, 3, 4, 5])
        }

        @Test
        func moreBuffersThanTheKernelTakesAreSentInPart() throws {
            let pair = try UnixSocket.pair()
            let byte: [UInt8] = [9]
            byte.withUnsafeBytes { byte in
                let vectors = [iovec](repeating: iovec(reading: byte), count: 2000)
                vectors.withUnsafeBufferPointer {
                    #expect(UnixSocket.send(pair.first.rawValue, vectors: $0) == .transferred(1024))
                }
            }
        }

        @Test
        func theEndOfTheStreamComesAfterTheLastByte() throws {
            let pair = try UnixSocket.pair()
            _ = send(pair.first.rawValue, [7])
            UnixSocket.shutdownWrite(pair.first.rawValue)
            #expect(receive(pair.second.rawValue, 10).bytes == [7])
            #expect(receive(pair.second.rawValue, 10).outcome == .endOfStream)
        }

        @Test("F11: sending to a dead peer is an outcome and no signal")
        func sendingToADeadPeerIsAnOutcomeAndNoSignal() throws {
            let former = signal(SIGPIPE, SIG_DFL)
            defer { signal(SIGPIPE, former) }
            let pair = try UnixSocket.pair()
            let sender = pair.first.rawValue
            pair.second.close()
            let byte: [UInt8] = [1]
            #expect(send(sender, byte) == .endOfStream)
            byte.withUnsafeBytes { #expect(UnixSocket.send(sender, $0, $0) == .endOfStream) }
        }

        @Test
        func aPeerThatDiesWithUnreadBytesIsTheEndOfTheStream() throws {
            let pair = try UnixSocket.pair()
            _ = send(pair.first.rawValue, [1])
            pair.second.close()
            #expect(receive(pair.first.rawValue, 10).outcome == .endOfStream)
        }

        @Test
        func aBlockingReceiveEndsAtItsTimeout() throws {
            let pair = try UnixSocket.pair()
            try setReceiveTimeout(pair.first.rawValue, milliseconds: 5)
            let start = MonotonicClock.now()
            #expect(receive(pair.first.rawValue, 10, blocking: true).outcome == .wouldBlock)
            #expect(MonotonicClock.now() > start)
        }

        @Test
        func aBlockingReceiveIsEndedByAShutdownFromAnotherThread() throws {
            let pair = try UnixSocket.pair()
            let shared = SharedDescriptor(pair.first)
            let outcome = Mailbox<IOOutcome>()
            let thread = try PlatformThread.startJoinable(name: "receiver") {
                outcome.put(shared.withRawValue { receive($0, 10, blocking: true).outcome })
            }
            shared.withRawValue { _ = UnixSocket.shutdownBoth($0) }
            #expect(try outcome.wait() == [.endOfStream])
            thread.join()
        }

        @Test
        func aWrongDescriptorIsAFailureWithItsName() {
            let expected = IOOutcome.failed(SystemError(code: EBADF, operation: "receiving on descriptor -1"))
            #expect(receive(-1, 1).outcome == expected)
        }

        #if os(Linux)
        @Test
        func descriptorsThatAPeerPassesAreNeverInstalled() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let pair = try UnixSocket.pair()
                    // A control message as the kernel lays it out: length, level, type, one descriptor, padding.
                    var control: [UInt64] = [20, UInt64(SOL_SOCKET) | UInt64(SCM_RIGHTS) << 32, 0]
                    var payload: [UInt8] = [5]
                    let sent = control.withUnsafeMutableBytes { control in
                        payload.withUnsafeMutableBytes { payload in
                            var vector = iovec(iov_base: payload.baseAddress, iov_len: 1)
                            return withUnsafeMutablePointer(to: &vector) { vector in
                                var message = msghdr()
                                message.msg_iov = vector
                                message.msg_iovlen = 1
                                message.msg_control = control.baseAddress
                                message.msg_controllen = control.count
                                return sendmsg(pair.first.rawValue, &message, 0)
                            }
                        }
                    }
                    #expect(sent == 1)
                    #expect(receive(pair.second.rawValue, 10).bytes == [5])
                }
            }
        }
        #endif
    }

    @Suite("A socket has a path and a peer")
    struct UnixSocketAddressTests {
        @Test
        func aClientFindsTheListenerAndEachKnowsTheOther() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    try withTemporaryDirectory { directory in
                        let listener = try UnixSocket.listen(at: directory + "/s")
                        try FileDescriptor.setNonBlocking(listener.rawValue)
                        let isEmpty = try UnixSocket.accept(from: listener.rawValue) == nil
                        #expect(isEmpty)
                        let client = try UnixSocket.connect(to: directory + "/s")
                        let server = try UnixSocket.accept(from: listener.rawValue)
                        guard let server else { throw NothingArrived(expected: 1, found: 0) }
                        #expect(send(client.rawValue, [1]) == .transferred(1))
                        #expect(receive(server.rawValue, 10).bytes == [1])
                        #expect(fcntl(server.rawValue, F_GETFD) == FD_CLOEXEC)
                        for socket in [client.rawValue, server.rawValue] {
                            let peer = try UnixSocket.peerCredentials(of: socket)
                            #expect(
                                peer.processIdentifier == getpid() && peer.user == geteuid() && peer.group == getegid()
                            )
                        }
                    }
                }
            }
        }

        @Test
        func aPathThatIsTooLongIsRefusedWithBothLengths() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let limit = UnixSocket.maximumPathLength
                    let path = "/" + String(repeating: "p", count: limit)
                    let error = #expect(throws: SystemError.self) { _ = try UnixSocket.connect(to: path) }
                    #expect(error?.code == ENAMETOOLONG)
                    #expect(error?.description.contains("\(limit + 1) bytes") == true)
                    #expect(error?.description.contains("\(limit) are allowed") == true)
                }
            }
        }

        @Test(arguments: ["", "a\0b"])
        func aPathThatWouldMeanAnotherIsRefused(path: String) {
            let error = #expect(throws: SystemError.self) { _ = try UnixSocket.listen(at: path) }
            #expect(error?.code == EINVAL)
        }

        @Test
        func aSecondListenerAtAPathIsRefused() throws {
            try withTemporaryDirectory { directory in
                let listener = try UnixSocket.listen(at: directory + "/s")
                let error = #expect(throws: SystemError.self) { _ = try UnixSocket.listen(at: directory + "/s") }
                #expect(error?.code == EADDRINUSE)
                listener.close()
            }
        }
    }
}

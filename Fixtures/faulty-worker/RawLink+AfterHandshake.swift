import BridgePlatform
import BridgeProtocol

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What can go wrong with a worker that was accepted.
extension RawLink {
    mutating func misbehaveAfterHandshake(_ misbehaviour: Misbehaviour) -> Never {
        if misbehaviour == .ignoreTermination { ignoreTermination() }
        let welcome = shakeHands()
        switch misbehaviour {
        case .tornFrame:
            let frame = Self.event(Self.head(sequence: 1), payload: Self.workDone)
            send(Array(frame.dropLast(frame.count / 2)))
            exit(0)
        case .hugeFrame:
            send([0x7F, 0xFF, 0xFF, 0xFF, 0x87])
        case .deepPayload:
            let arrays = [UInt8](repeating: 0x81, count: 100_000)
            sendEvent(Self.head(sequence: 1), payload: [0xA1, 0x64] + Array("text".utf8) + arrays + [0x00])
        default:
            flood(beyond: welcome)
        }
        readToTheEnd(status: 0)
    }

    /// Events without a thought for what the host has granted; ends with the link.
    private func flood(beyond welcome: Welcome) -> Never {
        var sequence: UInt64 = 0
        while true {
            var batch: [UInt8] = []
            for _ in 0..<256 {
                sequence += 1
                batch += Self.event(Self.head(sequence: sequence), payload: Self.workDone)
            }
            send(batch)
        }
    }

    /// Shows signs of life, and does nothing that it is asked to; SIGKILL ends it, and the loss of its parent.
    private mutating func ignoreTermination() -> Never {
        signal(SIGTERM, SIG_IGN)
        let parent = CurrentProcess.parentIdentifier
        let welcome = shakeHands()
        let interval = CInt(clamping: max(welcome.heartbeatMilliseconds / 2, 10))
        while CurrentProcess.parentIdentifier == parent {
            if hasEnded {
                usleep(50_000)
                continue
            }
            while receive(milliseconds: interval) != nil {}
            if !hasEnded { send(.heartbeat(Heartbeat())) }
        }
        exit(0)
    }

    private static func head(sequence: UInt64) -> EventHead {
        EventHead(sequence: sequence, id: .sender(number: sequence), nanosecondsSinceEpoch: 0, name: .text("WorkDone"))
    }

    /// The payload of an event: number 1, an empty text, attempt 1.
    private static let workDone: [UInt8] =
        [0xA3, 0x66] + Array("number".utf8) + [0x01, 0x64] + Array("text".utf8) + [0x60, 0x67] + Array("attempt".utf8)
        + [0x01]
}

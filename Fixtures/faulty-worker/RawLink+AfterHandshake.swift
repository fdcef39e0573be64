import BridgePlatform
import BridgeProtocol

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What a worker can do wrong after the host has accepted it.
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
        case .slowFrame: sendSlowly()
        case .floodControl:
            while true { send(.heartbeat) }
        case .floodNames: floodNames()
        case .floodInterest:
            for number: UInt64 in 2 ... .max {
                send(.interest(Interest(wanted: [.init(number: number, name: "Made up \(number)")])))
            }
        case .nameAll:
            var head = Self.head(sequence: 1)
            head.name = .text("*")
            sendEvent(head, payload: Self.workDone)
        case .command: send(.drain(graceMilliseconds: 1))
        default:
            flood(beyond: welcome)
        }
        readToTheEnd(status: 0)
    }

    /// Sends events without regard to the window that the host has granted; ends with the link.
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

    /// Sends a frame of a kibibyte byte by byte; each byte is a sign of life.
    private func sendSlowly() -> Never {
        send([0, 0, 4, 0])
        while true {
            send([0])
            usleep(20_000)
        }
    }

    /// Sends one event after the other, each when the one before has been acknowledged.
    private mutating func floodNames() -> Never {
        for sequence: UInt64 in 1 ... .max {
            var head = Self.head(sequence: sequence)
            head.name = .text("Made up \(sequence)")
            sendEvent(head, payload: Self.workDone)
            if receive() == nil { exit(0) }
        }
        exit(0)
    }

    /// Shows signs of life, and obeys no request to end; only SIGKILL and the death of its parent end it.
    private mutating func ignoreTermination() -> Never {
        signal(SIGTERM, SIG_IGN)
        let parent = CurrentProcess.parentIdentifier
        let welcome = shakeHands()
        let interval = CInt(clamping: max(welcome.beat / 2, 10))
        while CurrentProcess.parentIdentifier == parent {
            if hasEnded {
                usleep(50_000)
                continue
            }
            while receive(milliseconds: interval) != nil {}
            if !hasEnded { send(.heartbeat) }
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

import BridgePlatform
import ChaosLedger
import DomainEvents
import JSONText

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// One life of the witness: a worker that speaks in lines, because only such a worker can want everything.
struct WitnessLife {
    private static let pieceBytes = 65_536
    /// How long the witness rests after each piece, in microseconds, to leave the processor to other processes.
    private static let rest: UInt32 = 20_000

    private let descriptor: CInt
    private let board: Board
    private let handled: HandledLedger
    private var unread: [UInt8] = []

    init(folder: String) throws {
        guard let descriptor = CurrentProcess.environment("EVENT_BRIDGE_FD").flatMap({ CInt($0) }) else {
            throw LedgerError("the witness is started by a bridge")
        }
        self.descriptor = descriptor
        board = try Board(in: folder)
        handled = try HandledLedger(in: folder, name: Party.witness.name, board: board)
    }

    /// Handles what comes until the host asks the worker to end, or is gone.
    mutating func run() throws {
        let cookie = CurrentProcess.environment("EVENT_BRIDGE_COOKIE") ?? ""
        say(#"{"bridge":"hello","cookie":"\#(cookie)","name":"witness","library":"chaos witness","wants":["*"]}"#)
        say(#"{"bridge":"ready"}"#)
        var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
        while true {
            let count = read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            unread += piece[..<count]
            guard try takeLines() else { return }
            usleep(Self.rest)
        }
    }

    /// - Returns: False when the host has asked the worker to end.
    private mutating func takeLines() throws -> Bool {
        var start = 0
        var settled: UInt64 = 0
        var isAskedToEnd = false
        while let end = unread[start...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = try JSONReader().read(Array(unread[start..<end]))
            start = end + 1
            switch line["bridge"]?.text {
            case nil:
                try handle(line)
                settled = line["sequence"]?.number ?? settled
            case "gap": settled = line["sequence"]?.number ?? settled
            case "drain": isAskedToEnd = true
            default: break
            }
        }
        unread.removeSubrange(..<start)
        if settled > 0 { say(#"{"bridge":"ack","sequence":\#(settled)}"#) }
        if isAskedToEnd { say(#"{"bridge":"goodbye","reason":"shutdown"}"#) }
        return !isAskedToEnd
    }

    private func handle(_ line: JSONNode) throws {
        guard let data = line["data"]?["payload"], let payload = ChaosPayload(data),
            let kind = line["type"]?.text.flatMap({ ChaosKind(eventName: $0) }),
            let stream = ChaosStream(rawValue: payload.stream), stream.kind == kind,
            let attempt = line["attempt"]?.number
        else { throw LedgerError("the witness cannot read an event of type \(line["type"]?.text ?? "none")") }
        let incarnation = line["id"]?.text?.split(separator: "-").dropLast().last.flatMap { UInt64($0, radix: 16) }
        try handled.note(payload, attempt: Int(clamping: attempt), incarnation: incarnation)
        if stream.pacer == .witness { board.setProgress(payload.number, of: stream, from: payload.incarnation) }
    }

    private func say(_ line: String) {
        CurrentProcess.writeAll(line + "\n", to: descriptor)
    }
}

extension ChaosPayload {
    fileprivate init?(_ node: JSONNode) {
        guard let stream = node["stream"]?.number, let incarnation = node["incarnation"]?.number,
            let number = node["number"]?.number, case .bool(let isRefused) = node["isRefused"]?.value,
            let delay = node["delay"]?.number, let filler = node["filler"]?.text, let hash = node["hash"]?.number
        else { return nil }
        self.init(
            stream: UInt8(truncatingIfNeeded: stream),
            incarnation: incarnation,
            number: number,
            isRefused: isRefused,
            delay: UInt32(truncatingIfNeeded: delay),
            filler: filler,
            hash: hash
        )
    }
}

extension JSONNode {
    fileprivate var text: String? {
        guard case .string(let text) = value else { return nil }
        return text
    }

    fileprivate var number: UInt64? {
        guard case .unsigned(let number) = value else { return nil }
        return number
    }
}

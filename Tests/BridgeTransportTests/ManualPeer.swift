import BridgePlatform
import BridgeProtocol
import BridgeTransport
import TestSupport

/// A peer that speaks the protocol by hand, to do what no proper link does.
final class ManualPeer: Sendable {
    let stream: any ByteStream
    let decoder = FrameDecoder(limit: 1 << 24)
    private let held = Shared<[UInt8]>([])

    init(_ stream: any ByteStream) {
        self.stream = stream
    }

    func send(_ bytes: [UInt8]) {
        var left = bytes[...]
        while !left.isEmpty {
            switch stream.write(Array(left)) {
            case .transferred(let count): left = left.dropFirst(count)
            case .wouldBlock:
                let goesOn = Shared(false)
                stream.whenWritable { goesOn.change { $0 = true } }
                goesOn.wait { $0 }
            default: return
            }
        }
    }

    func send(_ message: ControlMessage) { send(frame(message)) }

    func send(event sequence: UInt64, name: WireName = .text("BoxSaved"), payload: [UInt8] = [0xA0]) {
        let head = EventHead(sequence: sequence, id: .sender(number: sequence), nanosecondsSinceEpoch: 1, name: name)
        send(frame(head, payload: payload))
    }

    /// The next frame's body; nil at the end.
    func receive() -> [UInt8]? {
        var found: [UInt8]?
        while found == nil {
            held.change { bytes in
                guard case .frame(let length)? = try? bytes.withUnsafeBytes({ try decoder.next(in: $0) }) else {
                    return
                }
                found = Array(bytes[FrameDecoder.headBytes..<length])
                bytes.removeFirst(length)
            }
            guard found == nil else { break }
            let (outcome, bytes) = stream.read()
            guard case .transferred = outcome else { return nil }
            held.change { $0 += bytes }
        }
        return found
    }

    /// The next frame as a message; events are passed over.
    func receiveMessage() -> ControlMessage? {
        while let body = receive() {
            if let message = try? body.withUnsafeBytes({ try ControlMessage(decoding: $0, limits: LinkLimits()) }) {
                return message
            }
        }
        return nil
    }
}

extension ManualPeer {
    /// A link of a host, and its peer, which has said hello.
    static func connected(
        to delegate: some LinkEventSink & LinkControlSink,
        _ poller: Poller,
        features: LinkFeatures = []
    ) throws -> (link: Link, peer: ManualPeer) {
        let (near, far) = MemoryStream.pair(poller: poller)
        let peer = ManualPeer(far)
        let link = Link(
            peerName: "canvas",
            role: .host,
            ownSource: LinkPair.hostSource,
            limits: LinkLimits(),
            poller: poller
        )
        try link.start(over: near, delegate: delegate)
        peer.send(.hello(LinkPair.hello(features: features)))
        return (link, peer)
    }
}

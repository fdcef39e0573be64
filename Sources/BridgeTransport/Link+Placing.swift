import BridgePlatform
package import BridgeProtocol
import Locks

/// Large events: their frames stay in memory that both sides share, and the stream only says where they lie.
extension Link {
    /// What this side can do over `stream` beyond what every peer can.
    package func features(over stream: any ByteStream) -> LinkFeatures {
        peerMemory(of: stream) == nil ? [] : .takesPlacedEvents
    }

    /// What this side can do over the stream that it is attached to.
    package var features: LinkFeatures { lock.withLock { stream }.map(features) ?? [] }

    /// The memory in which the peer's events lie; nil if it shares none.
    func peerMemory(of stream: any ByteStream) -> MemoryFile? {
        role == .host ? stream.memory : stream.shelf
    }

    /// An event lies in the memory that the peer shares: it is taken out, and then it is like any other.
    func placedReceived(
        _ body: UnsafeRawBufferPointer,
        for delegate: any LinkDelegate,
        behind last: inout Handled
    ) throws {
        try lock.withLock { () throws(LinkViolation) in try receiving.placeReceived() }
        let placed = try PlacedFrame(decoding: body)
        guard let copies else {
            throw LinkViolation("event \(placed.sequence) was placed in memory, though none is shared")
        }
        let copy = try copies.take(placed, limit: limits.frameBytes)
        try withExtendedLifetime(copy) {
            let event = try placed.check(copy.bytes, limits: limits)
            try eventReceived(event, frameLength: copy.bytes.count, for: delegate, behind: &last)
        }
    }
}

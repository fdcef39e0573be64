package import BridgeProtocol
import CBOR

/// A message as a whole frame.
package func frame(_ message: ControlMessage) -> [UInt8] {
    let buffer = CBORBuffer()
    message.encode(into: buffer)
    return buffer.copied()
}

/// An event as a whole frame.
package func frame(_ head: EventHead, payload: [UInt8]) -> [UInt8] {
    let buffer = CBORBuffer()
    EventFrame.encodeHead(head, payloadBytes: payload.count, into: buffer)
    buffer.append(payload)
    return buffer.copied()
}

/// A gap as a whole frame.
package func frame(_ gap: GapFrame) -> [UInt8] {
    let buffer = CBORBuffer()
    gap.encode(into: buffer)
    return buffer.copied()
}

/// A placed frame, which says where in shared memory an event's frame lies, as a whole frame.
package func frame(_ placed: PlacedFrame) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: PlacedFrame.maximumBytes) { buffer, count in
        if let start = buffer.baseAddress { count = placed.encode(at: UnsafeMutableRawPointer(start)) }
    }
}

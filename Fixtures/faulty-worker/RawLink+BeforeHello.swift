#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What a worker can do wrong before and in its first frame.
extension RawLink {
    /// EX_PROTOCOL of sysexits.h.
    private static let protocolError: CInt = 76

    mutating func misbehaveBeforeHello(_ misbehaviour: Misbehaviour) -> Never {
        switch misbehaviour {
        case .badVersion:
            sendHello(versions: 7_000...7_001)
            readToTheEnd(status: Self.protocolError)
        case .garbage:
            send(Array("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n".utf8))
            readToTheEnd(status: Self.protocolError)
        default:
            readToTheEnd(status: 0)
        }
    }
}

import CBridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Sockets that another process has made.
extension UnixSocket {
    /// What a descriptor is, as far as it matters for accepting connections from it.
    package enum Kind: Equatable, Sendable {
        /// A stream socket that accepts connections; the path is nil if the socket has no name in the file system.
        case listening(path: String?)
        case notListening
        /// A socket of datagrams or of packets.
        case notStream
        /// A socket of another family, such as TCP's.
        case notLocal
        case noSocket
        case notOpen
    }

    /// The kind of a descriptor that another process has passed.
    package static func kind(of number: CInt) throws(SystemError) -> Kind {
        guard FileDescriptor.isOpen(number) else { return .notOpen }
        guard FileDescriptor.isSocket(number) else { return .noSocket }
        let capacity = maximumPathLength + 1
        return try withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { buffer throws(SystemError) in
            guard let start = buffer.baseAddress else { return .notLocal }
            let length = cbp_unix_name(number, start, capacity)
            if length == CBP_NOT_UNIX { return .notLocal }
            try SystemError.check("reading the name of descriptor \(number)") { length }
            let isStream = try SystemError.check("looking at descriptor \(number)") { cbp_is_stream(number) }
            if isStream == 0 { return .notStream }
            let isListening = try SystemError.check("looking at descriptor \(number)") { cbp_is_listening(number) }
            if isListening == 0 { return .notListening }
            let bytes = UnsafeRawBufferPointer(start: start, count: Int(length))
            return .listening(path: length == 0 ? nil : String(decoding: bytes, as: UTF8.self))
        }
    }
}

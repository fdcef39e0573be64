#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

extension UnixSocket {
    /// Sends what fits now of several pieces in a row, in one call that takes the first 1,024 of them.
    package static func send(_ socket: CInt, pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
        if pieces.count == 1 { return send(socket, pieces[0]) }
        return withUnsafeTemporaryAllocation(of: iovec.self, capacity: pieces.count) { vectors in
            for (index, piece) in pieces.enumerated() {
                vectors.initializeElement(at: index, to: iovec(reading: piece))
            }
            return send(socket, vectors: UnsafeBufferPointer(vectors))
        }
    }
}

extension UnixSocket {
    /// Lets nothing more arrive: what has arrived can still be received, and then comes the end.
    @discardableResult
    package static func shutdownRead(_ socket: CInt) -> Bool {
        shutdown(socket, CInt(SHUT_RD)) == 0
    }
}

/// Reads `Decodable` values from CBOR in place.
///
/// The decoder builds no tree, and copies most text straight into the strings that the value keeps.
///
/// It first checks all the bytes (well-formed, UTF-8, no key twice, within the limits). So it refuses a bad field even
/// if the value does not ask for that field. Unknown keys are ignored, and a missing optional is nil. Keep the decoder
/// for further values. It is not thread-safe, but a value's `init(from:)` may use it again.
package final class CBORDecoder {
    let limits: CBORLimits
    let session: DecodingSession

    package init(limits: CBORLimits = .standard) {
        self.limits = limits
        session = DecodingSession(limits: limits, keepingContainers: true)
    }

    deinit {
        session.retire()
    }

    /// Reads the one item that the bytes hold.
    ///
    /// Every error is a `CBORError` with the byte and the path of what is wrong.
    package func decode<T: Decodable>(_ type: T.Type, from bytes: UnsafeRawBufferPointer) throws(CBORError) -> T {
        guard !session.isBusy else { return try CBORDecoder(limits: limits).decode(type, from: bytes) }
        session.begin(reading: bytes)
        defer { session.end() }
        do {
            var reader = CBORReader(bytes, limits: limits)
            try reader.skipWholeInput()
            return try session.decode(type, at: 0)
        } catch {
            throw described(error, bytes)
        }
    }

    @inline(never)
    func described(_ error: any Error, _ bytes: UnsafeRawBufferPointer) -> CBORError {
        session.described(error, at: 0).locating(in: bytes, limits: limits)
    }

    package func decode<T: Decodable>(_ type: T.Type, from bytes: [UInt8]) throws(CBORError) -> T {
        // By way of a `Result`, because the compiler does not infer the closure's error type as `CBORError`.
        let result: Result<T, CBORError> = bytes.withUnsafeBytes { raw in
            do throws(CBORError) {
                return .success(try decode(type, from: raw))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

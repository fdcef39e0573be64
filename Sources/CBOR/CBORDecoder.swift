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

    /// Memory that a decoded `Data` may keep instead of a copy, if the bytes being read lie there; nil for none.
    package var lender: LentBytes? {
        get { session.input.state.pointee.lender }
        set { session.input.state.pointee.lender = newValue }
    }

    /// Reads the one item that the bytes hold.
    ///
    /// Every error is a `CBORError` with the byte and the path of what is wrong. Types ask for coding paths while they
    /// are decoded, and walks over the bytes find these paths. If a type catches so many errors that the walks have
    /// used up the ``PathAllowance``, further coding paths are empty.
    ///
    /// - Parameter isChecked: whether ``isWhole(_:limits:)`` is known to be true of the bytes, within the same limits.
    package func decode<T: Decodable>(
        _ type: T.Type,
        from bytes: UnsafeRawBufferPointer,
        isChecked: Bool = false
    ) throws(CBORError) -> T {
        guard !session.isBusy else {
            return try CBORDecoder(limits: limits).decode(type, from: bytes, isChecked: isChecked)
        }
        session.begin(reading: bytes)
        defer { session.end() }
        do {
            if !isChecked { try Self.check(bytes, limits) }
            return try session.decode(type, at: 0)
        } catch {
            throw described(error, bytes)
        }
    }

    /// Whether the bytes are exactly one item that passes all checks of a decoder with these limits.
    package static func isWhole(_ bytes: UnsafeRawBufferPointer, limits: CBORLimits = .standard) -> Bool {
        (try? check(bytes, limits)) != nil
    }

    private static func check(_ bytes: UnsafeRawBufferPointer, _ limits: CBORLimits) throws(CBORError) {
        var reader = CBORReader(bytes, limits: limits)
        try reader.skipWholeInput()
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

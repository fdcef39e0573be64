/// Writes `Encodable` values as CBOR into a buffer, in the shortest form and with maps in the order of writing.
///
/// Keyed containers become maps with text keys, unkeyed ones arrays. Keep the encoder for further values: it uses its
/// working memory again. It is not thread-safe, but a value's `encode(to:)` may use it again.
///
/// If a value writes to a nested container after it has written to the parent again, the encoder encodes the value a
/// second time, with each nested container in a buffer of its own. So `encode(to:)` must write the same both times.
package final class CBOREncoder {
    private let limits: CBORLimits
    let session: EncodingSession

    package init(limits: CBORLimits = .standard) {
        self.limits = limits
        session = EncodingSession(limits: limits, keepingContainers: true)
    }

    deinit {
        session.retire()
    }

    /// Appends the value.
    ///
    /// Throws `CBORError`, or what the value's own `encode(to:)` throws; after an error the buffer holds what it held
    /// before.
    package func encode<T: Encodable>(_ value: T, into buffer: CBORBuffer) throws {
        guard !session.isBusy else { return try CBOREncoder(limits: limits).encode(value, into: buffer) }
        let start = buffer.count
        session.begin(writingInto: buffer)
        defer { session.end() }
        do {
            try session.encodeRoot(value)
        } catch {
            guard session.wasUsedOutOfOrder else {
                buffer.truncate(to: start)
                throw error
            }
        }
        guard session.wasUsedOutOfOrder else { return }
        buffer.truncate(to: start)
        try encodeSeparately(value, into: buffer)
    }

    package func encode<T: Encodable>(_ value: T) throws -> [UInt8] {
        let buffer = CBORBuffer()
        try encode(value, into: buffer)
        return buffer.copied()
    }

    @inline(never)
    private func encodeSeparately<T: Encodable>(_ value: T, into buffer: CBORBuffer) throws {
        let session = EncodingSession(limits: limits)
        let scratch = CBORBuffer()
        session.begin(writingInto: scratch, separatingChildren: true)
        defer { session.end() }
        try session.encodeRoot(value)
        let start = buffer.count
        do throws(CBORError) {
            try session.assemble(into: buffer)
        } catch {
            buffer.truncate(to: start)
            throw error
        }
    }
}

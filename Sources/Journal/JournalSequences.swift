public import DomainEvents

/// The events of one type in a journal, for `for try await`: first the recorded events, then new events as they come.
///
/// The sequence ends when the journal is closed or the task is cancelled. Without `follows`, it ends after the newest
/// safe event. If a failure has closed the journal, a sequence with `follows` throws the error after the last safe
/// event.
public struct JournalEvents<E: DomainEvent>: AsyncSequence, Sendable {
    /// Events and the places where some are missing.
    public typealias Element = JournalStep<JournalEntry<E>>

    let core: JournalCore
    let query: JournalQuery
    let upcasters: [JournalUpcaster]
    let position: UInt64
    let follows: Bool

    /// Makes a reader that is independent of all other readers.
    public func makeAsyncIterator() -> Iterator {
        Iterator(
            // A layout checks what it reads; other payloads are checked before they are decoded.
            reading: JournalReading(
                core,
                query,
                after: position,
                follows: follows,
                checksPayloads: !(E.self is any LaidOutEvent.Type)
            ),
            upcasters
        )
    }

    /// Takes the events one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline let reading: JournalReading
        @usableFromInline let decoder: EntryDecoder<E>

        init(reading: JournalReading, _ upcasters: [JournalUpcaster]) {
            self.reading = reading
            decoder = EntryDecoder(upcasters)
        }

        /// The next step of the present portion; nil if no step is left.
        ///
        /// This is not inlined, so that `next()` is small enough to be inlined: an asynchronous call takes memory.
        @inlinable
        @inline(never)
        func takeNext() -> Element? {
            if reading.takeRecord() { return decoder.step(reading) }
            return reading.takeGap().map { .gap($0) }
        }

        /// The next event, or the place where some are missing; nil at the end.
        /// - Throws: ``JournalError`` if the journal cannot be read any further, or a failure has closed it.
        @inlinable
        public mutating func next() async throws -> Element? {
            while true {
                if let step = takeNext() { return step }
                guard try await reading.readOn() else { return nil }
            }
        }

        /// The next event, or the place where some are missing; nil at the end.
        /// - Throws: ``JournalError`` if the journal cannot be read any further, or a failure has closed it.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Element? {
            while true {
                if let step = takeNext() { return step }
                guard try await reading.readOn() else { return nil }
            }
        }
    }
}

/// The events of a journal in CBOR, for `for try await`; otherwise like ``JournalEvents``.
public struct JournalRecords: AsyncSequence, Sendable {
    /// Events and the places where some are missing.
    public typealias Element = JournalStep<JournalRecord>

    let core: JournalCore
    let query: JournalQuery
    let position: UInt64
    let follows: Bool

    /// Makes a reader that is independent of all other readers.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reading: JournalReading(core, query, after: position, follows: follows, checksPayloads: false))
    }

    /// Takes the events one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline let reading: JournalReading

        /// The next event, or the place where some are missing; nil at the end.
        /// - Throws: ``JournalError`` if the journal cannot be read any further, or a failure has closed it.
        @inlinable
        public mutating func next() async throws -> Element? {
            while true {
                if let step = reading.takeStep() { return step }
                guard try await reading.readOn() else { return nil }
            }
        }

        /// The next event, or the place where some are missing; nil at the end.
        /// - Throws: ``JournalError`` if the journal cannot be read any further, or a failure has closed it.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Element? {
            while true {
                if let step = reading.takeStep() { return step }
                guard try await reading.readOn() else { return nil }
            }
        }
    }
}

import DomainEvents

/// The sources of the events in an outbox, which must stay alive as long as a record names them.
struct KeptSources {
    /// The last element is the newest event's source.
    private var sources: [EventSource] = []
    private var newest: UnsafeMutableRawPointer?

    /// Keeps the source of the newest event.
    @inline(__always)
    mutating func keep(_ source: EventSource) {
        // Comparing addresses changes no reference count.
        if newest != Unmanaged.passUnretained(source).toOpaque() { add(source) }
    }

    private mutating func add(_ source: EventSource) {
        newest = Unmanaged.passUnretained(source).toOpaque()
        if let known = sources.firstIndex(where: { $0 === source }) {
            sources.swapAt(known, sources.count - 1)
        } else {
            sources.append(source)
        }
    }

    /// Releases all sources but the newest event's: no record names them any more.
    mutating func keepNewest() {
        if sources.count > 1 { sources.removeFirst(sources.count - 1) }
    }
}

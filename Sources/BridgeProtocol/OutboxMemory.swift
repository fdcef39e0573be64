/// Memory that a worker and its host share: the worker's outbox, or the shelf with the host's large events.
package protocol OutboxMemory: AnyObject, Sendable {
    /// All bytes of the memory, which stay where they are for as long as the object lives.
    var bytes: UnsafeMutableRawBufferPointer { get }

    /// Gives the memory behind these bytes back to the system: nothing that lies there is needed any more.
    func giveBack(_ range: Range<Int>)
}

/// A worker's outbox, from which the host copies what it checks, because a process may still write to the memory.
package protocol OutboxSource: AnyObject, Sendable {
    var byteCount: Int { get }

    /// Copies the bytes from `offset` on, and returns how many; if they do not fill `buffer`, no more follow.
    func copy(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int
}

/// Memory that a worker shares with its host; the host reads it when the worker has died.
package protocol OutboxMemory: AnyObject, Sendable {
    /// All bytes of the memory, which stay where they are for as long as the object lives.
    var bytes: UnsafeMutableRawBufferPointer { get }

    /// Gives the memory behind these bytes back to the system; nothing there is needed any more.
    func giveBack(_ range: Range<Int>)
}

/// The same memory from the host's side: it is copied, never read in place, for a process may still write to it.
package protocol OutboxSource: AnyObject, Sendable {
    var byteCount: Int { get }

    /// Copies the bytes from `offset` on, and returns how many; fewer than asked for mean that no more follow.
    func copy(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int
}

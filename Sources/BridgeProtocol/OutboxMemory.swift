/// Memory that a worker shares with its host; the host reads it when the worker has died.
package protocol OutboxMemory: AnyObject, Sendable {
    /// All of it; stays where it is for as long as the object lives.
    var bytes: UnsafeMutableRawBufferPointer { get }

    /// Gives the memory behind these bytes back to the system; nothing there is needed any more.
    func giveBack(_ range: Range<Int>)
}

/// The same memory from the host's side: it is copied, never read in place, as a process may still be writing to it.
package protocol OutboxSource: AnyObject, Sendable {
    var byteCount: Int { get }

    /// Copies what lies at `offset`; fewer bytes than asked for mean that there are no more.
    func copy(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int
}

public import CLocks

/// A memory fence that costs time on only one of two sides.
///
/// Suppose that two threads each write a word and then read the word that the other writes. Each may miss what the
/// other has written, unless both make a full fence in between. If one thread does this for each event and the other
/// seldom, the first calls ``light()``, which only keeps the compiler from moving reads and writes. The other calls
/// ``heavy()``: the kernel makes every running thread of the process pass a full fence (`membarrier(2)`,
/// `MEMBARRIER_CMD_PRIVATE_EXPEDITED`), which takes a few microseconds.
@usableFromInline
package enum AsymmetricFence {
    /// Whether ``light()`` is enough on its side; if not, both sides need full fences.
    ///
    /// False on systems other than Linux, before Linux 4.14, and where a filter of system calls forbids `membarrier`.
    package static var isAvailable: Bool { cl_has_heavy_fences() }

    @inlinable
    package static func light() { cl_light_fence() }

    /// Makes every running thread of the process pass a full fence; does nothing if the fence is not available.
    ///
    /// If the system call fails, registers the process again and repeats the call: a process that was saved and
    /// restored has lost its registration. Ends the program if the system still refuses: the threads that call
    /// ``light()`` rely on this fence.
    package static func heavy() {
        // Not `precondition`: in an unchecked build the call would be left out.
        guard !isAvailable || cl_heavy_fence() else {
            fatalError("membarrier(2) was allowed when the process began, and fails")
        }
    }
}

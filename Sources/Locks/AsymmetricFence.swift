public import CLocks

/// A memory fence for which only one of two sides pays.
///
/// Suppose that two threads each write a word and then read the word that the other writes. Each may miss what the
/// other has written, unless both make a full fence in between. If one thread writes and reads for each event, and the
/// other seldom, the first takes ``light()``, which only keeps the compiler from moving anything. The other takes
/// ``heavy()``, in which the kernel has every running thread of the process pass a full fence (`membarrier(2)`,
/// `MEMBARRIER_CMD_PRIVATE_EXPEDITED`): a few microseconds.
@usableFromInline
package enum AsymmetricFence {
    /// Whether ``light()`` is enough on its side; if not, both sides need full fences.
    ///
    /// False on systems other than Linux, before Linux 4.14, and where a filter of system calls forbids `membarrier`.
    package static var isAvailable: Bool { cl_has_heavy_fences() }

    @inlinable
    package static func light() { cl_light_fence() }

    /// Does nothing if the fence is not available.
    ///
    /// If the call fails, registers the process again and repeats the call: a process that was saved and restored has
    /// lost its registration. Ends the program if the system refuses `membarrier` after all: the threads of the other
    /// side rely on the call.
    package static func heavy() {
        // No `precondition`: in an unchecked build it would not make the call.
        guard !isAvailable || cl_heavy_fence() else {
            fatalError("membarrier(2) was allowed when the process began, and fails")
        }
    }
}

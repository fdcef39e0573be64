public import CLocks

/// A memory fence whose cost one side bears alone.
///
/// A thread that writes a word and then reads another needs a full fence between the two if a second thread writes the
/// other word and then reads the first: otherwise each may miss what the other has written. If the first thread does
/// that for each event, and the second seldom, the first takes ``light()``, which keeps only the compiler from moving
/// anything. The second takes ``heavy()``, in which the kernel has every running thread of the process pass a full
/// fence (`membarrier(2)`, `MEMBARRIER_CMD_PRIVATE_EXPEDITED`): a few microseconds.
@usableFromInline
package enum AsymmetricFence {
    /// Whether ``light()`` is a fence; if not, both sides need full ones.
    ///
    /// False on systems other than Linux, before Linux 4.14, and where a filter of system calls forbids `membarrier`.
    package static var isAvailable: Bool { cl_has_heavy_fences() }

    @inlinable
    package static func light() { cl_light_fence() }

    /// Does nothing if the fence is not available.
    ///
    /// The process must not forbid itself `membarrier` later: threads have relied on it by then, so the program ends.
    package static func heavy() {
        // No `precondition`: in an unchecked build it would not make the call.
        guard !isAvailable || cl_heavy_fence() else {
            fatalError("membarrier(2) was allowed when the process began, and fails")
        }
    }
}

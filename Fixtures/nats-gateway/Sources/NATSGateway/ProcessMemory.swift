import CNATS

/// The memory of a gateway's process.
public enum ProcessMemory {
    /// Has free memory go back to the system; called before any other thread begins.
    ///
    /// A gateway has a dozen threads and little to do in each. By default each of them keeps the memory of its largest
    /// burst for itself: after a burst of some thousand events, 16 MiB for 1 MiB in use.
    public static func returnWhatIsFree() { natsgateway_return_memory() }
}

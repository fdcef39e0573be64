import CNATS

/// The memory of a gateway's process.
public enum ProcessMemory {
    /// Makes the allocator return free memory to the system; to be called before any other thread begins.
    ///
    /// A gateway has a dozen threads and little to do in each. By default each thread keeps the memory of its largest
    /// burst: after a burst of some thousand events, 16 MiB with 1 MiB in use.
    public static func returnWhatIsFree() { natsgateway_return_memory() }
}

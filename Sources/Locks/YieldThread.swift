// The C library has a different name on each system. `BridgePlatform` hides that, but depends on this module.
#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Lets other threads run before the calling thread goes on: for a wait of a few instructions that another thread is
/// about to end.
package func yieldThread() {
    if let thread = Simulation.thread { thread.yield() } else { sched_yield() }
}

import BridgePlatform
import Locks

/// Returns once `condition` holds; the calling thread polls.
///
/// After four minutes it ends the tests and names the place of the call, which a hang would not name.
package func waitUntil(file: StaticString = #fileID, line: UInt = #line, _ condition: () -> Bool) {
    let deadline = MonotonicClock.now() + 240_000_000_000
    while !condition() {
        if MonotonicClock.now() > deadline { fatalError("it never came to what is waited for", file: file, line: line) }
        yieldThread()
    }
}

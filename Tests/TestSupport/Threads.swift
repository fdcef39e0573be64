import BridgePlatform

/// Runs `body` on threads of the operating system, and returns when they have ended: a test that spins or waits must
/// not block the cooperative pool.
package func onThreads(_ count: Int, _ body: @Sendable @escaping (Int) -> Void) async {
    let done = Collected<Int>()
    let threads = (0..<count).map { index in
        do {
            return try PlatformThread.startJoinable(name: "test \(index)") {
                body(index)
                done.add(index)
            }
        } catch {
            fatalError("\(error)")
        }
    }
    await done.wait(for: count)
    for thread in threads { thread.join() }
}

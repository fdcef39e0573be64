import Dispatch

/// Returns once Dispatch has opened all descriptors that it keeps.
///
/// The runtime is still starting up in an exit test. After the first timer Dispatch opens nothing more that it keeps.
package func waitForStartedRuntime(file: StaticString = #fileID, line: UInt = #line) {
    let started = Collected<Void>()
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { started.add(()) }
    waitUntil(file: file, line: line) { started.count != 0 }
}

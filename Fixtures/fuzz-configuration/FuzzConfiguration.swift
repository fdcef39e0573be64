import FuzzTargets
import SupervisorConfiguration

// libFuzzer has one thread.
nonisolated(unsafe) private let target = ConfigurationTarget(
    parse: { _ = try SupervisorConfiguration.parse($0, file: "f") },
    readLine: { _ = try InputEvent(line: $0) }
)

/// What libFuzzer calls.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafeRawPointer?, _ count: Int) -> CInt { target.runOrTrap(start, count) }

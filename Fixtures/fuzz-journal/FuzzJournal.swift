import FuzzTargets

// libFuzzer has one thread.
nonisolated(unsafe) private let target = JournalTarget()

/// What libFuzzer calls.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafeRawPointer?, _ count: Int) -> CInt { target.runOrTrap(start, count) }

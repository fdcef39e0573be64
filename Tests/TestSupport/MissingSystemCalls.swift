#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

#if os(Linux)
/// Makes this process and its children run as where some system calls are missing, or fail.
///
/// It installs a filter, so the kernel must have filters. No process can remove a filter: use this only in exit tests.
package enum MissingSystemCalls {
    private struct Instruction {
        var code: UInt16
        var ifTrue: UInt8 = 0
        var ifFalse: UInt8 = 0
        var value: UInt32
    }

    private struct Program {
        var count: UInt16
        var instructions: UnsafeMutablePointer<Instruction>
    }

    private typealias Call = @convention(c) (Int, Int, Int, Int, Int, Int) -> Int

    /// `syscall` is variadic in C; on the machines that run these tests, a call with word arguments is the same as a
    /// call of an ordinary function.
    private static var systemCall: Call? {
        dlsym(UnsafeMutableRawPointer(bitPattern: 0), "syscall").map { unsafeBitCast($0, to: Call.self) }
    }

    #if arch(x86_64)
    private static let (prctl, seccomp) = (157, 317)
    private static let (changeWatches, socketName): (UInt32, UInt32) = (233, 51)
    private static let changePermissions: [UInt32] = [90, 91, 268]
    #else
    private static let (prctl, seccomp) = (167, 277)
    private static let (changeWatches, socketName): (UInt32, UInt32) = (21, 204)
    private static let changePermissions: [UInt32] = [52, 53]
    #endif
    private static let createRuleset: UInt32 = 444
    private static let waitPrecisely: UInt32 = 441

    /// As on a kernel without Landlock and without filters of system calls.
    ///
    /// - Returns: False if the filter cannot be installed.
    package static func install() -> Bool {
        install([createRuleset, UInt32(seccomp)], answering: ENOSYS)
    }

    /// As in a sandbox that answers `epoll_pwait2` (Linux 5.11) with EPERM, because it does not know the call.
    ///
    /// - Returns: False if the filter cannot be installed.
    package static func installForPreciseWaits() -> Bool { install([waitPrecisely], answering: EPERM) }

    /// As where the user watches as many descriptors as the user may: `epoll_ctl` answers with ENOSPC.
    ///
    /// - Returns: False if the filter cannot be installed.
    package static func installForWatches() -> Bool { install([changeWatches], answering: ENOSPC) }

    /// As where the kernel has no memory for the name of a socket: `getsockname` answers with ENOBUFS.
    ///
    /// - Returns: False if the filter cannot be installed.
    package static func installForSocketNames() -> Bool { install([socketName], answering: ENOBUFS) }

    /// As on a file system without permissions: `chmod` and its siblings answer with EPERM.
    ///
    /// - Returns: False if the filter cannot be installed.
    package static func installForPermissions() -> Bool { install(changePermissions, answering: EPERM) }

    /// As if this process were killed as soon as it is about to change a file's permissions.
    ///
    /// - Returns: False if the filter cannot be installed.
    package static func installKillingAtPermissions() -> Bool {
        let killProcess: UInt32 = 0x8000_0000
        return install(changePermissions, doing: killProcess)
    }

    private static func install(_ missing: [UInt32], answering error: CInt) -> Bool {
        install(missing, doing: 0x0005_0000 | UInt32(error))
    }

    private static func install(_ missing: [UInt32], doing refuse: UInt32) -> Bool {
        guard let systemCall else { return false }
        let (load, jumpIfEqual, answer): (UInt16, UInt16, UInt16) = (0x20, 0x15, 0x06)
        let allow: UInt32 = 0x7FFF_0000
        // The first word that a filter sees is the number of the system call.
        var steps = [Instruction(code: load, value: 0)]
        for (index, number) in missing.enumerated() {
            // Over the calls that are not compared yet, and over the step that allows.
            steps.append(Instruction(code: jumpIfEqual, ifTrue: UInt8(missing.count - index), value: number))
        }
        steps += [Instruction(code: answer, value: allow), Instruction(code: answer, value: refuse)]
        let noNewPrivileges = 38
        guard systemCall(prctl, noNewPrivileges, 1, 0, 0, 0) == 0 else { return false }
        return steps.withUnsafeMutableBufferPointer { steps in
            guard let first = steps.baseAddress else { return false }
            var program = Program(count: UInt16(steps.count), instructions: first)
            return withUnsafePointer(to: &program) { program in
                let (setFilter, allThreads) = (1, 1)
                return systemCall(seccomp, setFilter, allThreads, Int(bitPattern: program), 0, 0) == 0
            }
        }
    }
}
#endif

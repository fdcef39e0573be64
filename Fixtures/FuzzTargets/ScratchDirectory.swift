import BridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A new directory for this user alone, which is removed with this object if it is empty by then.
final class ScratchDirectory {
    let path: String

    init?() {
        let pattern = (CurrentProcess.environment("TMPDIR") ?? "/tmp") + "/fuzz-XXXXXX"
        var bytes = Array(pattern.utf8CString)
        guard mkdtemp(&bytes) != nil else { return nil }
        path = String(decoding: bytes.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit {
        rmdir(path)
    }
}

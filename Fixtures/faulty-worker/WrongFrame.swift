import BridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Bytes on a link in order that are no frame.
enum WrongFrame {
    /// The link's descriptor, which the worker's runtime erases from the environment: to be asked for before that.
    private static let link = CurrentProcess.environment("EVENT_BRIDGE_FD").flatMap { CInt($0) }

    static func prepare() { _ = link }

    /// Announces a frame of 4 GiB.
    static func write() {
        guard let link else { return }
        // Four bytes find room, or the host has gone.
        _ = [UInt8](repeating: 0xFF, count: 4).withUnsafeBytes { send(link, $0.baseAddress, $0.count, 0) }
    }
}

import BridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Writes bytes that are no frame to a link that is otherwise in order.
enum WrongFrame {
    /// The link's descriptor; read before the worker's runtime erases it from the environment.
    private static let link = CurrentProcess.environment("EVENT_BRIDGE_FD").flatMap { CInt($0) }

    static func prepare() { _ = link }

    /// Announces a frame of 4 GiB.
    static func write() {
        guard let link else { return }
        // There is room for four bytes, or the host has gone.
        _ = [UInt8](repeating: 0xFF, count: 4).withUnsafeBytes { send(link, $0.baseAddress, $0.count, 0) }
    }
}

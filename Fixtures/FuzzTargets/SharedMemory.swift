import BridgePlatform
import BridgeProtocol
import BridgeTransport

/// Memory like that which a worker shares with its host; made once, because only one run uses it at a time.
final class SharedMemory: Sendable {
    static let common = SharedMemory()

    let file: MemoryFile
    private let mapping: MemoryMapping

    private init?() {
        guard let file = MemoryFile.forOutbox(LinkLimits()), let mapping = try? file.map() else { return nil }
        (self.file, self.mapping) = (file, mapping)
        mapping.bytes.storeBytes(of: OutboxLayout.mark, toByteOffset: OutboxLayout.Field.mark, as: UInt64.self)
    }

    func say(accepted: UInt64, bytes: UInt64) {
        mapping.bytes.storeBytes(of: accepted, toByteOffset: OutboxLayout.Field.accepted, as: UInt64.self)
        mapping.bytes.storeBytes(of: bytes, toByteOffset: OutboxLayout.Field.acceptedBytes, as: UInt64.self)
    }
}

import BridgePlatform
import FoundationEssentials

/// The options of the driver's command line.
struct DriverOptions: Sendable {
    static let usage = "usage: chaos-driver [--ends COUNT] [--seed NUMBER] [--folder DIRECTORY] [--outbox KIB]"

    /// How many ends workers meet.
    private(set) var ends = 500
    private(set) var seed = randomUInt64()
    /// Where the ledgers lie while the run lasts; a folder of the run's own is made in it.
    private(set) var folder = FileManager.default.temporaryDirectory.path

    /// The outbox of most workers, in KiB, beyond which publishers wait; at full load it holds about that much.
    private(set) var outbox = 4_096

    init?(_ arguments: ArraySlice<String>) {
        var rest = arguments
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else { return nil }
            switch name {
            case "--ends":
                guard let ends = Int(value), ends > 0 else { return nil }
                self.ends = ends
            case "--seed":
                guard let seed = UInt64(value) else { return nil }
                self.seed = seed
            case "--folder": folder = value
            case "--outbox":
                guard let outbox = Int(value), (64...65_536).contains(outbox) else { return nil }
                self.outbox = outbox
            default: return nil
            }
        }
    }
}

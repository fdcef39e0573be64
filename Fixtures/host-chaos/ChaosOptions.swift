import BridgePlatform
import FoundationEssentials

/// The options of the command line.
struct ChaosOptions {
    static let usage = "usage: host-chaos [--kills COUNT] [--events COUNT] [--seed NUMBER] [--folder DIRECTORY]"

    private(set) var kills = 20
    /// How many events the host publishes at least, in all its lives together.
    private(set) var events = 200_000
    private(set) var seed = randomUInt64()
    /// The folder in which the run makes a folder of its own.
    private(set) var folder = FileManager.default.temporaryDirectory.path

    init?(_ arguments: ArraySlice<String>) {
        var rest = arguments
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else { return nil }
            switch name {
            case "--kills":
                guard let kills = Int(value), (1...1_000_000).contains(kills) else { return nil }
                self.kills = kills
            case "--events":
                guard let events = Int(value), (1...1_000_000_000).contains(events) else { return nil }
                self.events = events
            case "--seed":
                guard let seed = UInt64(value) else { return nil }
                self.seed = seed
            case "--folder": folder = value
            default: return nil
            }
        }
    }
}

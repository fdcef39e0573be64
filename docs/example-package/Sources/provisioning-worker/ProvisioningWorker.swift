import BoxServices
import BridgeWorker

@main struct ProvisioningWorker {
    static func main() async { await BridgeWorker.main { provisionBoxes(on: $0) } }
}

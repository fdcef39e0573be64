import BoxServices
import BridgeWorker

@main struct BoxWorker {
    static func main() async { await BridgeWorker.main { provisionBoxes(on: $0) } }
}

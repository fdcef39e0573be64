import BoxServices
import BridgeWorker

@main struct LabelWorker {
    static func main() async { await BridgeWorker.main { labelBoxes(on: $0) } }
}

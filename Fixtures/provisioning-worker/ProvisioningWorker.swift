import BridgeWorker
import ExampleServices

/// Provides boxes and puts items into them, in a process of its own: `provisioning-worker --store FILE`.
@main
struct ProvisioningWorker {
    static func main() async {
        await BridgeWorker.main { publisher in
            let store = WorkerOption.value("--store", "FILE")
            return try Provisioning.start(publisher: publisher, store: store)
        }
    }
}

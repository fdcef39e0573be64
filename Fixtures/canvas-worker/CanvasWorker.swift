import BridgeWorker
import ExampleServices

/// Saves drawings as SVG files, in a process of its own: `canvas-worker --directory DIR`.
@main
struct CanvasWorker {
    static func main() async {
        await BridgeWorker.main { publisher in
            let directory = WorkerOption.value("--directory", "DIR")
            return try CanvasStore.start(publisher: publisher, directory: directory)
        }
    }
}

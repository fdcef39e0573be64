import BridgePlatform
import BridgeWorker
import DomainEvents

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A life of a worker, which writes down each number.
enum NumberWorker {
    static func main(in folder: String) async {
        await BridgeWorker.main { publisher in
            let name = CommandLine.arguments[2]
            guard let receiver = try Tally(in: folder).worker(name) else { CurrentProcess.exit(1) }
            try waitForFormerLife("\(folder)/\(name).lock")
            return [
                publisher.subscribe(to: Numbered.self) { event in
                    receiver.note(event.number, attempt: EventContext.current?.attempt ?? 0)
                }
            ]
        }
    }

    /// A worker of a killed host may live a moment longer than the host; its successor waits for its end.
    private static func waitForFormerLife(_ path: String) throws {
        // The file stays open, and so locked, until the process ends.
        let file = try SystemError.check("opening \(path)") { open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600) }
        try SystemError.check("locking \(path)") { flock(file, LOCK_EX) }
    }
}

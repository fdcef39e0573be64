import BridgePlatform
import JSONText

/// Standard input as a whole.
enum StandardInput {
    /// Reads to the end, on a thread of its own, because the user may still be typing.
    static func read(upTo limit: Int) async throws(RunFailure) -> [UInt8] {
        let outcome = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<[UInt8], RunFailure>, Never>) in
            do throws(SystemError) {
                try PlatformThread.start(name: "input") { continuation.resume(returning: readNow(upTo: limit)) }
            } catch {
                continuation.resume(
                    returning: .failure(RunFailure(status: .system, description: "supervisor: \(error)"))
                )
            }
        }
        return try outcome.get()
    }

    private static func readNow(upTo limit: Int) -> Result<[UInt8], RunFailure> {
        var text: [UInt8] = []
        do throws(SystemFileError) {
            while case let part = try SystemFile.standardInput.read(upTo: 64 << 10), !part.isEmpty {
                text += part
                guard text.count <= limit else {
                    let sentence = "standard input has more than \(ByteCountText.text(limit)), the limit of an event"
                    return .failure(RunFailure(status: .badInput, description: "supervisor: \(sentence)"))
                }
            }
        } catch {
            let sentence = "standard input cannot be read: \(error)"
            return .failure(RunFailure(status: .noInput, description: "supervisor: \(sentence)"))
        }
        return .success(text)
    }
}

import BridgePlatform
import Foundation

/// A directory of its own for a test, with the files that it writes; gone afterwards.
final class Workspace: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/supervisor-\(randomUInt64())"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Writes a file and gives its name.
    @discardableResult
    func write(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
        return name
    }

    func run(
        _ arguments: String...,
        input: String = "",
        waitsForInput: Bool = false,
        readsOutput: Bool = true,
        onError: @escaping @Sendable (SupervisorProgram, String) -> Void = { _, _ in },
        onOutput: @escaping @Sendable (SupervisorProgram, String) -> Void = { _, _ in }
    ) async throws -> SupervisorProgram.Result {
        try await SupervisorProgram.run(
            arguments,
            in: path,
            input: input,
            waitsForInput: waitsForInput,
            readsOutput: readsOutput,
            onError: onError,
            onOutput: onOutput
        )
    }

    /// The text of a file that comes with the package.
    static func fixture(_ name: String) throws -> String {
        let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let file = package.deletingLastPathComponent().appendingPathComponent("Fixtures/\(name)")
        return String(decoding: try Data(contentsOf: file), as: UTF8.self)
    }
}

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The file in which provisioning keeps its state: JSON, replaced as a whole.
///
/// One process at a time writes a store; a restarted worker or a replacement begins where the process before it ended.
/// Any number of processes may read the store meanwhile. Each finds it whole, though perhaps out of date a moment
/// later.
struct ProvisioningStore: Sendable {
    /// What the file holds.
    struct Content: Codable, Sendable {
        var version = 1
        var warehouse = Warehouse()
        var handled = HandledEvents()
    }

    private let directory: String
    private let name: String

    /// Makes the directories that lead to the file, but not the file.
    init(path: String) throws(FileError) {
        (directory, name) = Directory.split(path)
        guard !name.isEmpty, name != ".", name != "..", path.utf8.last != UInt8(ascii: "/"), !path.utf8.contains(0)
        else {
            throw FileError("\"\(path)\" does not name a file for the store")
        }
        _ = try Directory.open(directory, creatingMissing: true)
    }

    /// The content of the file; empty if there is no file.
    ///
    /// A file that cannot be understood is an error and stays as it is: a silent new beginning would lose boxes.
    func load() throws(FileError) -> Content {
        guard let bytes = try Directory.open(directory).read(name) else { return Content() }
        let content: Content
        do {
            content = try JSONDecoder().decode(Content.self, from: Data(bytes))
        } catch {
            throw corrupt(Self.describe(error))
        }
        guard content.version == 1 else {
            throw corrupt("it has version \(content.version); this program reads version 1")
        }
        if let inconsistency = content.warehouse.inconsistency { throw corrupt(inconsistency) }
        return content
    }

    /// Returns when the content is on the disk; `Directory.replace` says what the file holds if this throws.
    func save(_ content: Content) throws(FileError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let data: Data
        do {
            data = try encoder.encode(content)
        } catch {
            throw FileError("the state could not be written as JSON: \(error)")
        }
        try Directory.open(directory).replace(name, with: Array(data), temporaryName: ".\(name).new")
    }

    private func corrupt(_ reason: String) -> FileError {
        FileError("the store \"\(directory)/\(name)\" is corrupt: \(reason); move it away to begin without boxes")
    }

    private static func describe(_ error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        let (problem, path): (String, [any CodingKey]) =
            switch error {
            case .typeMismatch(let type, let context): ("\(type) was expected", context.codingPath)
            case .valueNotFound(let type, let context): ("\(type) was expected, null was found", context.codingPath)
            case .keyNotFound(let key, let context): ("\"\(key.stringValue)\" is missing", context.codingPath)
            case .dataCorrupted(let context): (context.debugDescription, context.codingPath)
            @unknown default: ("\(error)", [])
            }
        let place = path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
        return place.isEmpty ? problem : "at \(place): \(problem)"
    }
}

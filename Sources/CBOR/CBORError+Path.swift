/// Finding the path of an error from its offset, by walking the bytes once more.
///
/// Decoding keeps no path on its way, because only the one error that is shown needs a path.
extension CBORError {
    /// The same error with its path filled in, if it has none yet.
    func locating(in bytes: UnsafeRawBufferPointer, limits: CBORLimits) -> CBORError {
        guard path.isEmpty else { return self }
        var located = self
        located.path = CBORPath(to: offset, in: bytes, limits: limits).description
        return located
    }
}

/// The keys and indices that lead from the outermost item to a byte.
struct CBORPath: CustomStringConvertible {
    private(set) var steps: [CBORPathStep] = []

    /// Walks to `offset`; only the bytes before it have to be well-formed.
    init(to offset: Int, in bytes: UnsafeRawBufferPointer, limits: CBORLimits) {
        var reader = CBORReader(bytes, limits: limits)
        for _ in 0..<limits.maximumDepth {
            guard reader.position < offset, let head = try? reader.readHead() else { return }
            switch head.majorType {
            case .tag:
                continue
            case .array:
                guard let index = CBORPath.descend(to: offset, &reader) else { return }
                steps.append(.index(index))
            case .map:
                guard let key = CBORPath.descendIntoPair(at: offset, &reader) else { return }
                steps.append(.key(key))
            default:
                return
            }
        }
    }

    var description: String { steps.pathDescription }

    /// Moves the reader to the item around `offset` and returns how many whole items came before it.
    private static func descend(to offset: Int, _ reader: inout CBORReader) -> Int? {
        var index = 0
        while reader.position <= offset {
            var ahead = reader
            do throws(CBORError) {
                try ahead.skipCheckedItem(levelsLeft: reader.limits.maximumDepth)
            } catch {
                // The item that cannot be passed over is the one with the error.
                return index
            }
            if ahead.position > offset { return index }
            reader = ahead
            index += 1
        }
        return nil
    }

    private static func descendIntoPair(at offset: Int, _ reader: inout CBORReader) -> String? {
        let first = reader
        guard let index = descend(to: offset, &reader) else { return nil }
        // The key is the item before this one, or this item if the key itself is wrong.
        let wanted = index / 2 * 2
        var keyReader = first
        for _ in 0..<wanted {
            guard (try? keyReader.skipCheckedItem(levelsLeft: reader.limits.maximumDepth)) != nil else { return nil }
        }
        if index == wanted { reader.position = offset }
        return MapKey(at: keyReader.position, in: reader.bytes)?.plainText
    }
}

/// One step of a path: a key of a map or an index of an array.
enum CBORPathStep: Hashable {
    case key(String)
    case index(Int)
}

extension [CBORPathStep] {
    /// The path as a person writes it: `items[3].title`.
    var pathDescription: String {
        var text = ""
        for step in self {
            switch step {
            case .key(let key): text += text.isEmpty ? key : ".\(key)"
            case .index(let index): text += "[\(index)]"
            }
        }
        return text
    }
}

extension MapKey {
    /// The key as a path shows it: text without quotes.
    var plainText: String {
        withText { String(decoding: $0, as: UTF8.self) } ?? description
    }
}

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
        for level in PathWalk(to: offset, in: bytes, limits: limits).levels {
            switch level.kind {
            case .tag:
                continue
            case .array:
                steps.append(.index(level.index))
            case .map:
                guard let key = MapKey(at: level.key, in: bytes)?.plainText else { return }
                steps.append(.key(key))
                // The key itself is wrong: what is inside it is no place in the value.
                if level.index % 2 == 0 { return }
            }
        }
    }

    var description: String { steps.pathDescription }
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
        plainText(upTo: .max)
    }

    /// The same, but of a text longer than `limit` bytes only the whole characters within `limit`, and an ellipsis.
    func plainText(upTo limit: Int) -> String {
        let text = withText { text in
            guard text.count > limit else { return String(decoding: text, as: UTF8.self) }
            var end = limit
            while end > 0, text[end] & 0xC0 == 0x80 { end -= 1 }
            return String(decoding: text[..<end], as: UTF8.self) + "…"
        }
        return text ?? description
    }
}

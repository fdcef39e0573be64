/// One thing drawn on a canvas; x grows to the right and y downwards.
public enum Shape: Codable, Hashable, Sendable {
    /// Its upper left corner and its size.
    case rectangle(x: Double, y: Double, width: Double, height: Double)
    /// Its centre and radius.
    case circle(x: Double, y: Double, radius: Double)
    /// From one point to another.
    case line(fromX: Double, fromY: Double, toX: Double, toY: Double)
    /// Words, and where their first letter stands on its base line.
    case text(x: Double, y: Double, text: String)

    /// How far a canvas reaches in each direction.
    public static let farthest = 1_000_000_000.0

    func validate(named name: String) throws(InvalidEvent) {
        switch self {
        case .rectangle(let x, let y, let width, let height):
            try Self.check([(x, "x"), (y, "y"), (width, "width"), (height, "height")], of: "\(name).rectangle")
            try Self.checkNotNegative(width, "\(name).rectangle.width")
            try Self.checkNotNegative(height, "\(name).rectangle.height")
        case .circle(let x, let y, let radius):
            try Self.check([(x, "x"), (y, "y"), (radius, "radius")], of: "\(name).circle")
            try Self.checkNotNegative(radius, "\(name).circle.radius")
        case .line(let fromX, let fromY, let toX, let toY):
            try Self.check([(fromX, "fromX"), (fromY, "fromY"), (toX, "toX"), (toY, "toY")], of: "\(name).line")
        case .text(let x, let y, let text):
            try Self.check([(x, "x"), (y, "y")], of: "\(name).text")
            try InvalidEvent.check(text, named: "\(name).text.text")
        }
    }

    private static func check(_ numbers: [(Double, String)], of name: String) throws(InvalidEvent) {
        for (number, field) in numbers where !(number.magnitude <= farthest) {
            throw InvalidEvent("\(name).\(field) is \(number); a canvas reaches from -\(farthest) to \(farthest)")
        }
    }

    private static func checkNotNegative(_ number: Double, _ field: String) throws(InvalidEvent) {
        guard number >= 0 else { throw InvalidEvent("\(field) is \(number); it cannot be negative") }
    }
}

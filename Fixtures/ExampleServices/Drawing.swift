import ExampleDomain

/// Shapes as the text of an SVG file.
struct Drawing {
    private let shapes: [Shape]

    init(_ shapes: [Shape]) {
        self.shapes = shapes
    }

    /// The file's bytes; the same shapes always give the same bytes.
    var bytes: [UInt8] {
        var lines = ["<?xml version=\"1.0\" encoding=\"UTF-8\"?>"]
        let frame = Frame(of: shapes)
        lines.append(
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="\(frame.left) \(frame.top) \(frame.width) \(frame.height)" \
            fill="none" stroke="black">
            """
        )
        for shape in shapes { lines.append("  " + Self.element(shape)) }
        lines.append("</svg>")
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    private static func element(_ shape: Shape) -> String {
        switch shape {
        case .rectangle(let x, let y, let width, let height):
            "<rect x=\"\(x)\" y=\"\(y)\" width=\"\(width)\" height=\"\(height)\"/>"
        case .circle(let x, let y, let radius):
            "<circle cx=\"\(x)\" cy=\"\(y)\" r=\"\(radius)\"/>"
        case .line(let fromX, let fromY, let toX, let toY):
            "<line x1=\"\(fromX)\" y1=\"\(fromY)\" x2=\"\(toX)\" y2=\"\(toY)\"/>"
        case .text(let x, let y, let text):
            "<text x=\"\(x)\" y=\"\(y)\" fill=\"black\" stroke=\"none\">\(escaped(text))</text>"
        }
    }

    /// The text as XML, which cannot spell most control characters: they become U+FFFD.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\t", "\n": result.unicodeScalars.append(scalar)
            case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

/// The smallest upright rectangle around some shapes, with a margin.
private struct Frame {
    private(set) var left = 0.0
    private(set) var top = 0.0
    private var right = 0.0
    private var bottom = 0.0

    private static let margin = 10.0

    var width: Double { right - left }
    var height: Double { bottom - top }

    init(of shapes: [Shape]) {
        let corners = shapes.flatMap(Self.corners)
        left = (corners.map(\.x).min() ?? 0) - Self.margin
        top = (corners.map(\.y).min() ?? 0) - Self.margin
        right = (corners.map(\.x).max() ?? 0) + Self.margin
        bottom = (corners.map(\.y).max() ?? 0) + Self.margin
    }

    private static func corners(of shape: Shape) -> [(x: Double, y: Double)] {
        switch shape {
        case .rectangle(let x, let y, let width, let height): [(x, y), (x + width, y + height)]
        case .circle(let x, let y, let radius): [(x - radius, y - radius), (x + radius, y + radius)]
        case .line(let fromX, let fromY, let toX, let toY): [(fromX, fromY), (toX, toY)]
        // The width of a text depends on the reader's fonts.
        case .text(let x, let y, _): [(x, y)]
        }
    }
}

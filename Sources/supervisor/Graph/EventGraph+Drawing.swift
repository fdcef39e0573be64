import BridgePlatform

/// The languages for a drawn graph.
enum GraphFormat: String, Sendable, Hashable, CaseIterable {
    case mermaid
    case dot
}

extension EventGraph {
    func text(as format: GraphFormat) -> String {
        switch format {
        case .mermaid: mermaid
        case .dot: dot
        }
    }

    /// The graph as a Mermaid flow chart.
    private var mermaid: String {
        var lines = ["flowchart LR"]
        for (index, node) in nodes.enumerated() {
            let label = Self.mermaidText(([node.name] + node.remarks))
            // The supervisor's box is round, workers' boxes have corners.
            lines.append("    n\(index)\(index == 0 ? "([\"\(label)\"])" : "[\"\(label)\"]")")
        }
        for edge in edges {
            lines.append("    n\(edge.from) -->|\"\(Self.mermaidText(edge.events))\"| n\(edge.to)")
        }
        return lines.joined(separator: "\n")
    }

    private static func mermaidText(_ lines: [String]) -> String {
        lines.map { line in
            line.unicodeScalars.map { scalar in
                switch scalar {
                // Mermaid's special characters are written as entities with their numbers.
                case "\"", "#", "<", ">", "&", "`", "|": "#\(scalar.value);"
                default: TerminalText.harmless(String(scalar))
                }
            }.joined()
        }.joined(separator: "<br/>")
    }

    /// The graph in the language of Graphviz.
    private var dot: String {
        var lines = ["digraph events {", "    rankdir=LR;", "    node [shape=box];"]
        for (index, node) in nodes.enumerated() {
            let shape = index == 0 ? ", shape=oval" : ""
            lines.append("    n\(index) [label=\"\(Self.dotText([node.name] + node.remarks))\"\(shape)];")
        }
        for edge in edges {
            lines.append("    n\(edge.from) -> n\(edge.to) [label=\"\(Self.dotText(edge.events))\"];")
        }
        lines.append("}")
        return lines.joined(separator: "\n")
    }

    private static func dotText(_ lines: [String]) -> String {
        lines.map { line in
            // By scalars, not characters: a quote with a combining accent is one character, but still ends the text.
            TerminalText.harmless(line).unicodeScalars.map { scalar in
                switch scalar {
                case "\\", "\"": "\\\(scalar)"
                default: String(scalar)
                }
            }.joined()
        }.joined(separator: "\\n")
    }
}

import BridgeProtocol

/// The manual's pages for man(1), on the program and on each subcommand: the text of the help, in roff.
enum ManualPage {
    /// The page of a subcommand, or of the program as a whole.
    static func text(_ topic: Subcommand.Name?) -> String {
        let sections = topic.map { page(of: .named($0)) } ?? program
        return ([heading(topic)] + sections.map { ".SH \($0.title)\n\($0.text)" }).joined(separator: "\n")
    }

    /// The name of a page, without its section.
    static func name(_ topic: Subcommand.Name?) -> String { topic.map { "supervisor-\($0.rawValue)" } ?? "supervisor" }

    private static func heading(_ topic: Subcommand.Name?) -> String {
        ".TH \(name(topic).uppercased()) 1 \"\" \"EventBridge \(LibraryVersion.text)\" \"EventBridge\""
    }

    private static var program: [(title: String, text: String)] {
        let rows = Subcommand.all.map { subcommand in
            tagged("\(bold(name(subcommand.name)))(1)", [subcommand.summary])
        }
        return [
            ("NAME", "supervisor \\- run worker processes and carry domain events between them"),
            ("SYNOPSIS", "\(bold("supervisor")) \(italic("SUBCOMMAND")) ...\n.br\n\(bold("supervisor --version"))"),
            ("DESCRIPTION", "Runs worker processes and carries domain events between them."),
            ("SUBCOMMANDS", rows.joined(separator: "\n")),
        ]
    }

    private static func page(of subcommand: Subcommand) -> [(title: String, text: String)] {
        var sections = [
            ("NAME", "\(escaped(name(subcommand.name))) \\- \(escaped(subcommand.summary))"),
            ("SYNOPSIS", synopsis(of: subcommand)),
            (
                "DESCRIPTION",
                ([escaped(subcommand.purpose)] + subcommand.details.map(paragraph)).joined(separator: "\n.PP\n")
            ),
        ]
        if !subcommand.options.isEmpty {
            let options = subcommand.options.map { option in
                let value = option.value.map { " \(italic($0.usage))" } ?? ""
                return tagged("\(bold(option.name))\(value)", [option.summary] + option.details)
            }
            sections.append(("OPTIONS", options.joined(separator: "\n")))
        }
        if !subcommand.statuses.isEmpty {
            let statuses = subcommand.statuses.map { tagged(bold("\($0.status.rawValue)"), $0.lines) }
            sections.append(("EXIT STATUS", statuses.joined(separator: "\n")))
        }
        sections.append(("SEE ALSO", "\(bold("supervisor"))(1)"))
        return sections
    }

    private static func synopsis(of subcommand: Subcommand) -> String {
        let rest = subcommand.usage.dropFirst("supervisor \(subcommand.name.rawValue)".count)
        return "\(bold("supervisor \(subcommand.name.rawValue)"))\(escaped(String(rest)))"
    }

    /// A paragraph in which indented lines keep their form and the others are filled.
    private static func paragraph(_ text: String) -> String {
        var isFilled = true
        var lines: [String] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix(" ") == isFilled {
                lines.append(isFilled ? ".PP\n.nf" : ".fi")
                isFilled.toggle()
            }
            lines.append(escaped(String(line)))
        }
        if !isFilled { lines.append(".fi") }
        return lines.joined(separator: "\n")
    }

    private static func tagged(_ tag: String, _ lines: [String]) -> String {
        ".TP\n\(tag)\n\(lines.map(escaped).joined(separator: "\n"))"
    }

    private static func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }

    private static func italic(_ text: String) -> String { "\\fI\(escaped(text))\\fR" }

    /// Escapes the characters that roff would take for a request or an escape, or would replace by a typographic sign.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "'": result += "\\(aq"
            case "`": result += "\\(ga"
            case "~": result += "\\(ti"
            case "^": result += "\\(ha"
            default: result.append(character)
            }
        }
        return result.hasPrefix(".") ? "\\&" + result : result
    }
}

/// The texts of the program's help.
enum HelpText {
    /// The help on a subcommand, or on the program as a whole.
    static func text(_ topic: Subcommand.Name?) -> String {
        guard let topic else { return program }
        let subcommand = Subcommand.named(topic)
        var parts = [subcommand.purpose, "Usage:\n\(usageLines(of: subcommand))"]
        if !subcommand.options.isEmpty {
            parts.append("Options:\n" + subcommand.options.map(lines).joined(separator: "\n"))
        }
        parts += subcommand.details
        if !subcommand.statuses.isEmpty {
            parts.append("Exit statuses:\n" + subcommand.statuses.map(lines).joined(separator: "\n"))
        }
        return parts.joined(separator: "\n\n")
    }

    /// The usage of the command, in a line.
    static func usage(_ topic: Subcommand.Name?) -> String {
        guard let topic else { return "supervisor SUBCOMMAND ..., or supervisor help [SUBCOMMAND]" }
        return Subcommand.named(topic).usage
    }

    private static var program: String {
        let width = Subcommand.all.map(\.invocation.count).max() ?? 0
        let lines = Subcommand.all.map { "  \(padded($0.invocation, to: width + 2))\($0.summary)" }
        return """
            Runs worker processes and carries domain events between them.

            Usage:
            \(lines.joined(separator: "\n"))
              supervisor --version

            CONFIG is a file of JSON5 that names the workers. `supervisor help run` tells the options and exit statuses.
            """
    }

    /// The greatest length of a line, in characters.
    private static let width = 120

    /// The column at which the explanations begin.
    private static let column = 23

    private static func usageLines(of subcommand: Subcommand) -> String {
        var lines = [" "]
        for word in subcommand.usageWords {
            if lines[lines.count - 1].count + 1 + word.count > width { lines.append(String(repeating: " ", count: 5)) }
            lines[lines.count - 1] += " " + word
        }
        return lines.joined(separator: "\n")
    }

    private static func lines(of option: Subcommand.Option) -> String {
        let head = "  \(option.name)\(option.value.map { " \($0.usage)" } ?? "")"
        let indent = String(repeating: " ", count: column)
        // A name that leaves no room gets a line of its own.
        let first = head.count < column ? padded(head, to: column) : "\(head)\n\(indent)"
        return ([first + option.summary] + option.details.map { indent + $0 }).joined(separator: "\n")
    }

    private static func lines(of status: (status: ProgramStatus, lines: [String])) -> String {
        let number = String(status.status.rawValue)
        let head = String(repeating: " ", count: 4 - number.count) + number
        return "\(head)  \(status.lines.joined(separator: "\n      "))"
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}

extension Subcommand {
    fileprivate var invocation: String {
        (["supervisor \(name.rawValue)"] + operands.map(\.usage)).joined(separator: " ")
    }
}

import Testing

@testable import supervisor

@Suite("The manual's pages")
struct ManualPageTests {
    /// The page as a reader sees it, without roff's escapes.
    private func read(_ page: String) -> String {
        var text = page
        for (escape, sign) in [
            ("\\-", "-"), ("\\(aq", "'"), ("\\(ga", "`"), ("\\(ti", "~"), ("\\(ha", "^"), ("\\fB", ""), ("\\fI", ""),
            ("\\fR", ""), ("\\&", ""), ("\\e", "\\"),
        ] {
            text = text.replacing(escape, with: sign)
        }
        return text
    }

    @Test("each subcommand has one with all that its help says", arguments: Subcommand.all)
    func subcommands(subcommand: Subcommand) throws {
        let page = read(ManualPage.text(subcommand.name))
        let name = "supervisor-\(subcommand.name.rawValue)"
        #expect(page.hasPrefix(".TH \(name.uppercased()) 1 "))
        #expect(page.contains("\n.SH NAME\n\(name) - \(subcommand.summary)\n"))
        #expect(page.contains("\n.SH SYNOPSIS\n\(subcommand.usage)\n"))
        #expect(page.contains("\n.SH DESCRIPTION\n\(subcommand.purpose)\n"))
        for option in subcommand.options {
            let value = option.value.map { " \($0.usage)" } ?? ""
            let lines = [option.summary] + option.details
            #expect(page.contains("\n.TP\n\(option.name)\(value)\n\(lines.joined(separator: "\n"))\n"))
        }
        for (status, lines) in subcommand.statuses {
            #expect(page.contains("\n.TP\n\(status.rawValue)\n\(lines.joined(separator: "\n"))\n"))
        }
        let said = page.split(separator: "\n")
        for line in subcommand.details.flatMap({ $0.split(separator: "\n") }) {
            #expect(said.contains(line), "\(line)")
        }
    }

    @Test("the program's names those of all subcommands")
    func program() {
        let page = read(ManualPage.text(nil))
        #expect(page.hasPrefix(".TH SUPERVISOR 1 "))
        for subcommand in Subcommand.all {
            #expect(page.contains("\n.TP\nsupervisor-\(subcommand.name.rawValue)(1)\n\(subcommand.summary)"))
        }
    }

    @Test("no line of a text is a request, and nothing needs another encoding", arguments: Subcommand.all)
    func plain(subcommand: Subcommand) {
        let page = ManualPage.text(subcommand.name)
        #expect(page.utf8.allSatisfy { $0 < 0x80 })
        let requests = Set(page.split(separator: "\n").filter { $0.hasPrefix(".") }.map { $0.prefix { $0 != " " } })
        #expect(requests.isSubset(of: [".TH", ".SH", ".PP", ".TP", ".nf", ".fi", ".br"]), "\(requests)")
    }
}

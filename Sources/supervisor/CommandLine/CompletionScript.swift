/// A script with which a shell completes the arguments of this program.
enum CompletionScript {
    enum Shell: String, Sendable, Hashable, CaseIterable {
        case bash
        case zsh
        case fish
    }

    static func text(for shell: Shell) -> String {
        switch shell {
        case .bash: bash
        case .zsh: zsh
        case .fish: fish
        }
    }

    private static var names: String { Subcommand.Name.allCases.map(\.rawValue).joined(separator: " ") }
}

// MARK: - bash

extension CompletionScript {
    fileprivate static var bash: String {
        let cases = Subcommand.all.map { subcommand in
            let options = subcommand.options.map(\.name) + ["--help"]
            return """
                        \(subcommand.name.rawValue))
                            options='\(options.joined(separator: " "))'
                            \(bashOperands(of: subcommand))
                            case $previous in
                \(subcommand.options.compactMap(bashOption).map { "\($0)\n" }.joined())\
                            esac
                            ;;
                """
        }
        return """
            # Completes the arguments of supervisor in bash: source <(supervisor completion bash)
            _supervisor() {
                local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} options='' values='' after=''
                COMPREPLY=()
                if ((COMP_CWORD == 1)); then
                    mapfile -t COMPREPLY < <(compgen -W '\(names) --help --version' -- "$word")
                    return
                fi
                # The sign between an option and its value is a word of its own here.
                if [[ $previous == '=' ]]; then
                    previous=${COMP_WORDS[COMP_CWORD - 2]}
                elif [[ $word == '=' ]]; then
                    word=''
                fi
                case ${COMP_WORDS[1]} in
            \(cases.joined(separator: "\n"))
                esac
                if [[ -z $after && $word == -* ]]; then
                    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
                elif [[ $values == '<file>' ]]; then
                    compopt -o filenames 2>/dev/null
                    mapfile -t COMPREPLY < <(compgen -f -- "$word")
                elif [[ -n $values ]]; then
                    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
                fi
            }
            complete -F _supervisor supervisor
            """
    }

    private static func bashOption(_ option: Subcommand.Option) -> String? {
        // Nothing is offered for a value that may be left out; the words that may follow it are offered.
        option.value.flatMap { value in
            value.usual == nil ? "                    \(option.name)) after=1; \(bashValues(value.values)) ;;" : nil
        }
    }

    /// A subcommand has at most one operand with values that a shell could know.
    private static func bashOperands(of subcommand: Subcommand) -> String {
        bashValues(subcommand.operands.map(\.values).first { $0 != .text } ?? .text)
    }

    private static func bashValues(_ values: Subcommand.Values) -> String {
        switch values {
        case .text: "values=''"
        case .file: "values='<file>'"
        case .choice(let words): "values='\(words.joined(separator: " "))'"
        }
    }
}

// MARK: - zsh

extension CompletionScript {
    fileprivate static var zsh: String {
        let summaries = Subcommand.all.map { "            \(quoted("\($0.name.rawValue):\($0.summary)"))" }
        let cases = Subcommand.all.map { subcommand in
            let options = subcommand.options.map { option in
                let value =
                    option.value.map { "\($0.usual == nil ? ":" : "::")\($0.placeholder):\(zshValues($0.values))" }
                    ?? ""
                return quoted("\(option.name)[\(zshText(option.summary))]\(value)")
            }
            let operands = subcommand.operands.enumerated().map { index, operand in
                quoted("\(operand.isRepeated ? "*" : "\(index + 1)"):\(operand.noun):\(zshValues(operand.values))")
            }
            let words = options + [quoted("--help[tell how it is used]")] + operands
            return "        \(subcommand.name.rawValue)) _arguments \(words.joined(separator: " ")) ;;"
        }
        return """
            #compdef supervisor
            # Completes the arguments of supervisor in zsh: put it as _supervisor into a directory of $fpath.
            _supervisor() {
                local -a subcommands
                if ((CURRENT == 2)); then
                    subcommands=(
            \(summaries.joined(separator: "\n"))
                    )
                    _describe subcommand subcommands
                    return
                fi
                shift words
                ((CURRENT--))
                case $words[1] in
            \(cases.joined(separator: "\n"))
                esac
            }
            if [[ $funcstack[1] == _supervisor ]]; then _supervisor "$@"; else compdef _supervisor supervisor; fi
            """
    }

    private static func zshValues(_ values: Subcommand.Values) -> String {
        switch values {
        case .file: "_files"
        case .text: " "
        case .choice(let words): "(\(words.joined(separator: " ")))"
        }
    }

    /// Escapes brackets and colons, which end an explanation.
    private static func zshText(_ text: String) -> String {
        String(text.flatMap { "[]:\\".contains($0) ? ["\\", $0] : [$0] })
    }
}

// MARK: - fish

extension CompletionScript {
    fileprivate static var fish: String {
        var lines = [
            "# Completes the arguments of supervisor in fish: save it as ~/.config/fish/completions/supervisor.fish",
            "complete -c supervisor -f",
            "complete -c supervisor -n __fish_use_subcommand -l help -d 'tell how it is used'",
            "complete -c supervisor -n __fish_use_subcommand -l version -d 'tell the version'",
        ]
        for subcommand in Subcommand.all {
            let name = subcommand.name.rawValue
            lines.append("complete -c supervisor -n __fish_use_subcommand -a \(name) -d \(quoted(subcommand.summary))")
            let condition = "complete -c supervisor -n '__fish_seen_subcommand_from \(name)'"
            for option in subcommand.options {
                let value = option.value.map { $0.usual == nil ? " -r \(fishValues($0.values))" : "" } ?? ""
                lines.append("\(condition) -l \(option.name.dropFirst(2))\(value) -d \(quoted(option.summary))")
            }
            lines.append("\(condition) -l help -d 'tell how it is used'")
            for operand in subcommand.operands where operand.values != .text {
                lines.append("\(condition) \(fishValues(operand.values))")
            }
        }
        return lines.joined(separator: "\n")
    }

    private static func fishValues(_ values: Subcommand.Values) -> String {
        switch values {
        case .file: "-F"
        case .text: "-f"
        case .choice(let words): "-f -a \(quoted(words.joined(separator: " ")))"
        }
    }

    /// The text as one word, for both shells.
    private static func quoted(_ text: String) -> String {
        "'\(text.replacing("'", with: "'\\''"))'"
    }
}

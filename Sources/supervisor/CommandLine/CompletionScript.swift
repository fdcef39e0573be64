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
            let valued = subcommand.options.filter { $0.value.map { $0.usual == nil } ?? false }.map(\.name)
            let operands = subcommand.operands.map { bashWord($0.values) }
            let further = subcommand.operands.last.flatMap { $0.isRepeated ? bashWord($0.values) : nil } ?? "''"
            return """
                        \(subcommand.name.rawValue))
                            options='\(options.joined(separator: " "))' valued=' \(valued.joined(separator: " ")) '
                            operands=(\(operands.joined(separator: " "))) further=\(further)
                            case $previous in
                \(subcommand.options.compactMap(bashOption).map { "\($0)\n" }.joined())\
                            esac
                            ;;
                """
        }
        return """
            # Completes the arguments of supervisor in bash: source <(supervisor completion bash)
            # Prints the workers or events of the supervisor that the line speaks to, if one runs.
            _supervisor_names() {
                local index control=''
                for ((index = 2; index < COMP_CWORD; index++)); do
                    [[ ${COMP_WORDS[index]} == --control ]] || continue
                    control=${COMP_WORDS[index + 1]}
                    if [[ $control == '=' ]]; then control=${COMP_WORDS[index + 2]}; fi
                done
                "${COMP_WORDS[0]/#\\~\\//$HOME/}" \(CompletionNames.word) "$1" ${control:+"${control/#\\~\\//$HOME/}"} 2>/dev/null
            }
            _supervisor() {
                local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
                local options='' valued='' operands=() further='' values='' after='' name index operand=0
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
                if [[ -z $after ]]; then
                    # Which operand the word is: the words before it count that are neither options nor values that
                    # options must have.
                    for ((index = 2; index < COMP_CWORD; index++)); do
                        if [[ ${COMP_WORDS[index + 1]} == '=' ]]; then
                            ((index += 2))
                        elif [[ $valued == *" ${COMP_WORDS[index]} "* ]]; then
                            ((index += 1))
                        elif [[ ${COMP_WORDS[index]} != -?* ]]; then
                            ((operand += 1))
                        fi
                    done
                    values=${operands[operand]-$further}
                fi
                if [[ -z $after && $word == -* ]]; then
                    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
                elif [[ $values == '<file>' ]]; then
                    compopt -o filenames 2>/dev/null
                    mapfile -t COMPREPLY < <(compgen -f -- "$word")
                elif [[ $values == '<workers>' || $values == '<events>' ]]; then
                    # Not by compgen -W, which would run what stands in a name.
                    while IFS= read -r name; do
                        if [[ $name == "$word"* ]]; then COMPREPLY+=("$name"); fi
                    done < <(_supervisor_names "${values:1:-1}")
                elif [[ -n $values ]]; then
                    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
                fi
            }
            complete -F _supervisor supervisor
            """
    }

    private static func bashOption(_ option: Subcommand.Option) -> String? {
        // A value that may be left out is not completed: in its place the script offers the next operand's values.
        option.value.flatMap { value in
            value.usual == nil ? "                    \(option.name)) after=1 values=\(bashWord(value.values)) ;;" : nil
        }
    }

    /// What the script's variable `values` has to be for these values: words to choose from, a word in brackets for
    /// what the script has to look up, or nothing.
    private static func bashWord(_ values: Subcommand.Values) -> String {
        switch values {
        case .text: "''"
        case .file: "'<file>'"
        case .choice(let words): "'\(words.joined(separator: " "))'"
        case .names(let kind): "'<\(kind.rawValue)>'"
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
            # Adds the workers or events of the supervisor that the line speaks to, if one runs.
            _supervisor_names() {
                local -a names
                local word previous control
                for word in $words; do
                    if [[ $previous == --control ]]; then control=${(Q)word}; fi
                    if [[ $word == --control=* ]]; then control=${(Q)word#*=}; fi
                    previous=$word
                done
                program=${program/#\\~\\//$HOME/} control=${control/#\\~\\//$HOME/}
                names=(${(f)"$($program \(CompletionNames.word) $argv[-1] $control 2>/dev/null)"})
                compadd "${(@)argv[1,-2]}" -a names
            }
            _supervisor() {
                local -a subcommands
                local program=${(Q)words[1]}
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
        case .names(let kind): "_supervisor_names \(kind.rawValue)"
        }
    }

    /// Escapes brackets and colons, which end an explanation, and the character that escapes them.
    private static func zshText(_ text: String) -> String {
        String(text.flatMap { "[]:\\".contains($0) ? ["\\", $0] : [$0] })
    }
}

// MARK: - fish

extension CompletionScript {
    fileprivate static var fish: String {
        var lines = [
            "# Completes the arguments of supervisor in fish: save it as ~/.config/fish/completions/supervisor.fish",
            fishNames,
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

    private static var fishNames: String {
        """
        # Prints the workers or events of the supervisor that the line speaks to, if one runs.
        function __supervisor_names
            set -l words (commandline -opc)
            set -l control
            set -l previous
            for word in $words
                if test "$previous" = --control
                    set control $word
                else if string match -q -- '--control=*' $word
                    set control (string replace -- --control= '' $word)
                end
                set previous $word
            end
            if set -q control[1]
                set control (string replace -r '^~/' "$HOME/" -- $control)
            end
            set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
            command -q $program; and command $program \(CompletionNames.word) $argv[1] $control 2>/dev/null
        end
        """
    }

    private static func fishValues(_ values: Subcommand.Values) -> String {
        switch values {
        case .file: "-F"
        case .text: "-f"
        case .choice(let words): "-f -a \(quoted(words.joined(separator: " ")))"
        case .names(let kind): "-f -a '(__supervisor_names \(kind.rawValue))'"
        }
    }

    /// The text as one word, for zsh and for fish.
    private static func quoted(_ text: String) -> String {
        "'\(text.replacing("'", with: "'\\''"))'"
    }
}

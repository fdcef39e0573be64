import Foundation

/// A worker in bash that answers each event with another one, which has the same number.
enum Answerer {
    /// Writes the program, and returns the worker's entry for a configuration.
    static func worker(to event: String, with answer: String, in directory: String) throws -> String {
        let program = "\(directory)/answer-\(event).sh"
        let script = #"""
            #!/usr/bin/env bash
            set -euo pipefail
            link=$EVENT_BRIDGE_FD
            say() { printf '%s\n' "$1" >&"$link"; }
            say "{\"bridge\":\"hello\",\"cookie\":\"$EVENT_BRIDGE_COOKIE\",\"wants\":[\"ASKED\"]}"
            say '{"bridge":"ready"}'
            while IFS= read -r line <&"$link"; do
                case $line in
                    '{"bridge":"drain"'*) say '{"bridge":"goodbye","reason":"shutdown"}'; exit 0 ;;
                    '{"bridge":'*) ;;
                    *)
                        [[ $line =~ \"id\":\"([^\"]+)\".*\"sequence\":([0-9]+).*\"number\":([0-9]+) ]]
                        id=${BASH_REMATCH[1]} sequence=${BASH_REMATCH[2]} number=${BASH_REMATCH[3]}
                        say "{\"type\":\"ANSWER\",\"causationid\":\"$id\",\"data\":{\"number\":$number}}"
                        say "{\"bridge\":\"ack\",\"sequence\":$sequence}"
                        ;;
                esac
            done
            """#
        try script.replacingOccurrences(of: "ASKED", with: event)
            .replacingOccurrences(of: "ANSWER", with: answer)
            .write(toFile: program, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        return """
            { name: "answerer", executable: "\(program)", subscribes: ["\(event)"], publishes: ["\(answer)"] }
            """
    }
}

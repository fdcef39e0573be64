/// What the program says about itself.
enum HelpText {
    static func text(_ topic: HelpTopic) -> String {
        switch topic {
        case .supervisor: supervisor
        case .run: run
        case .check: check
        }
    }

    /// How the command is written, in a line.
    static func usage(_ topic: HelpTopic) -> String {
        switch topic {
        case .supervisor: "supervisor run|check CONFIG, or supervisor help [run|check]"
        case .run: "supervisor run CONFIG [--input FILE|-] [--format text|json] [--exit-when-idle] [--strict]"
        case .check: "supervisor check CONFIG"
        }
    }

    private static let supervisor = """
        Runs worker processes and carries domain events between them.

        Usage:
          supervisor run CONFIG      run the workers and print the events that pass
          supervisor check CONFIG    say whether a configuration is right
          supervisor help [run|check]
          supervisor --version

        CONFIG is a file of JSON5 that names the workers. `supervisor help run` tells the options and exit statuses.
        """

    private static let run = """
        Runs the workers of a configuration, carries events between them, and prints each event that passes.

        Usage:
          \(usage(.run))

        Options:
          --input FILE|-       publish the events of a file, or of standard input: one JSON object a line such as
                               {"type": "BoxOrdered", "data": {"label": "Books"}}
                               The other attributes of a printed event may stand there too; they are ignored.
                               A line that cannot be published is named with the reason and skipped.
          --format text|json   print events as aligned text, or each as a CloudEvents object in a line of its own
          --exit-when-idle     stop when all input is handled and nothing is on its way between the workers
          --strict             stop at the first line of input that is wrong, or whose event a worker refuses as such

        Events are printed on standard output; what happens to the workers, what they print, and what goes wrong is told
        on standard error. A reader of standard output that stops reading holds up the events; one that goes away does not.

        Signals:
          SIGTERM, SIGINT      let the workers finish what they have and stop them in reverse order;
                               the second one hurries, the third one kills

        Exit statuses:
           0  stopped with every event handled; events of the input that a worker refused for their fields are reported
              only, unless --strict was given
          64  the command line is wrong
          65  with --strict: a line of the input is wrong
          66  the configuration or the input cannot be read
          69  a worker was given up
          71  the operating system refused something that nothing goes without
          75  stopped with events left unhandled, dropped, or refused for another reason than the input's fields
          78  the configuration has mistakes
        """

    private static let check = """
        Reads a configuration and names every mistake in it, with file, line, column and key. Runs nothing.

        Usage:
          \(usage(.check))

        Exit statuses:
           0  the configuration is right
          66  it cannot be read
          78  it has mistakes, or names a program that is not there
        """
}

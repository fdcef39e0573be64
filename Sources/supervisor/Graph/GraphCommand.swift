import SupervisorConfiguration

/// `supervisor graph`: draws which worker publishes what, and which workers want it.
struct GraphCommand {
    let configuration: String
    let format: GraphFormat

    /// The status and the text to print, which goes to standard output if all is right.
    func run() -> (status: ProgramStatus, text: String) {
        do throws(SupervisorConfigurationError) {
            // A drawing needs no programs, and may be made on a machine without them.
            let found = try SupervisorConfiguration.load(file: configuration)
            return (.success, EventGraph(found).text(as: format))
        } catch {
            return (error.status, error.description)
        }
    }
}

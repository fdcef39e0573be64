import SupervisorConfiguration

/// `supervisor graph`: draws who publishes what to whom.
struct GraphCommand {
    let configuration: String
    let format: GraphFormat

    /// The status, and what to print: on standard output if all is right.
    func run() -> (status: ProgramStatus, text: String) {
        do throws(SupervisorConfigurationError) {
            // A drawing needs no programs: it may be made where they are not.
            let found = try SupervisorConfiguration.load(file: configuration)
            return (.success, EventGraph(found).text(as: format))
        } catch {
            return (error.status, error.description)
        }
    }
}

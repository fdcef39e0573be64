import BridgeControl
import BridgePlatform

/// `supervisor status`: shows the report, once or each second.
struct StatusCommand {
    let options: StatusOptions

    func run() async throws(RunFailure) -> String? {
        let path = ControlPath.find(options.control)
        let output = SystemFile.standardOutput
        let isTerminal = output.isTerminal
        let isColoured = TextFormatter.isColourWanted(
            isTerminal: isTerminal,
            environment: CurrentProcess.environment
        )
        if options.isWatching {
            let form: StatusScreen.Form =
                options.isJSON ? .json : isTerminal ? .inPlace(isColoured: isColoured) : .blocks
            let screen: StatusScreen
            do {
                screen = try StatusScreen(output, form: form, isOnlyBad: options.isOnlyBad)
            } catch {
                throw RunFailure(error)
            }
            try await StatusWatch(path: path, screen: screen).run()
            return nil
        }
        let report = try await HostConnection.status(at: path, as: .status)
        if options.isJSON { return ReportJSON.text(options.isOnlyBad ? report.onlyBad : report) }
        let table = StatusTable(report: report, isColoured: isColoured, isOnlyBad: options.isOnlyBad)
        return table.lines(width: output.terminalSize?.columns).joined(separator: "\n")
    }
}

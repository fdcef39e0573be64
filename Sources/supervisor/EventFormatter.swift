/// Makes the line of an event, and the line that replaces missing events.
protocol EventFormatter: Sendable {
    func line(_ event: PrintedEvent) -> [UInt8]
    func line(_ gap: PrintedGap) -> [UInt8]
}

/// Makes the line for an event, and the line for a gap in place of missing events.
protocol EventFormatter: Sendable {
    func line(_ event: PrintedEvent) -> [UInt8]
    func line(_ gap: PrintedGap) -> [UInt8]
}

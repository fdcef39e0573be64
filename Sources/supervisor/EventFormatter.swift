/// Makes the line of an event, and the line that stands where events are missing.
protocol EventFormatter: Sendable {
    func line(_ event: PrintedEvent) -> [UInt8]
    func line(_ gap: PrintedGap) -> [UInt8]
}

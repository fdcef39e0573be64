/// Makes the line of an event.
protocol EventFormatter: Sendable {
    func line(_ event: PrintedEvent) -> [UInt8]
}

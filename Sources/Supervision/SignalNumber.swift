/// The number of a signal that has a name.
package struct SignalNumber: Sendable, Hashable, CustomStringConvertible {
    package let rawValue: Int32

    /// The names of all signals, such as `SIGTERM`, in the order of their numbers.
    package static var names: [String] { SystemConstants.signalNames.sorted { $0.key < $1.key }.map(\.value) }

    /// Makes the signal with this number; nil if no signal has the number, or the signal has no name.
    package init?(_ number: Int32) {
        guard SystemConstants.signalNames[number] != nil else { return nil }
        rawValue = number
    }

    /// Reads a signal's name, with or without `SIG` and in any case, or its number; nil for any other text.
    package init?(_ text: String) {
        if let number = Int32(text) {
            self.init(number)
            return
        }
        let word = text.uppercased()
        let name = word.hasPrefix("SIG") ? word : "SIG\(word)"
        guard let number = SystemConstants.signalNames.first(where: { $0.value == name })?.key else { return nil }
        self.init(number)
    }

    /// The signal's name and number, such as `SIGKILL (9)`.
    package var description: String { SystemConstants.signalText(rawValue) }
}

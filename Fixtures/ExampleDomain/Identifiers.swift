/// Identifies a box: a positive number of 63 bits, chosen at random or by the process that ordered the box.
///
/// It travels as the bare number and goes beyond 2^53, so nothing may pass it through a `Double`.
public struct BoxID: RawRepresentable, Codable, Hashable, Sendable, CustomStringConvertible {
    /// The number.
    public let rawValue: Int64

    /// Makes an identifier from its number.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Makes an identifier from its number.
    public init(_ rawValue: Int64) { self.rawValue = rawValue }

    /// The number in decimal digits.
    public var description: String { "\(rawValue)" }
}

/// Identifies an item: a positive number of 63 bits, chosen at random or by the process that received the item.
public struct ItemID: RawRepresentable, Codable, Hashable, Sendable, CustomStringConvertible {
    /// The number.
    public let rawValue: Int64

    /// Makes an identifier from its number.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Makes an identifier from its number.
    public init(_ rawValue: Int64) { self.rawValue = rawValue }

    /// The number in decimal digits.
    public var description: String { "\(rawValue)" }
}

/// Identifies a canvas: chosen by the drawing program.
public struct CanvasID: RawRepresentable, Codable, Hashable, Sendable, CustomStringConvertible {
    /// The number.
    public let rawValue: Int64

    /// Makes an identifier from its number.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Makes an identifier from its number.
    public init(_ rawValue: Int64) { self.rawValue = rawValue }

    /// The number in decimal digits.
    public var description: String { "\(rawValue)" }
}

import Foundation

/// Reads single values of a notification's dictionary, in Swift's or Foundation's types.
///
/// Also describes a value of any type, for an error.
enum UserInfoValue {
    /// The types of values that the dictionary holds as they are.
    private static let kept: Set<ObjectIdentifier> = [
        ObjectIdentifier(Data.self), ObjectIdentifier(Date.self), ObjectIdentifier(Decimal.self),
        ObjectIdentifier(URL.self), ObjectIdentifier(UUID.self),
    ]

    static func isKept(_ type: any Any.Type) -> Bool { kept.contains(ObjectIdentifier(type)) }

    static func isNull(_ value: Any) -> Bool {
        value is NSNull || (value as? any MaybeAbsent)?.isAbsent == true
    }

    // MARK: - Reading

    static func bool(_ value: Any) -> Bool? {
        if let bool = exact(value, Bool.self) { return bool }
        // Foundation's booleans are numbers too; only the type from which a number was made shows that it is a boolean.
        guard let number = value as? NSNumber, ["B", "c"].contains(String(cString: number.objCType)) else { return nil }
        return number.boolValue
    }

    static func integer<T: FixedWidthInteger>(_ value: Any, _ type: T.Type) -> T? {
        if let integer = exact(value, T.self) { return integer }
        // The cast of a number is exact or it fails: nothing is rounded or cut off.
        guard exact(value, Bool.self) == nil, let number = value as? NSNumber else { return nil }
        return number as? T
    }

    static func double(_ value: Any) -> Double? {
        if let double = exact(value, Double.self) { return double }
        guard exact(value, Bool.self) == nil, let number = value as? NSNumber else { return nil }
        if number is NSDecimalNumber || ["d", "f"].contains(String(cString: number.objCType)) {
            return number.doubleValue
        }
        return number as? Double
    }

    static func float(_ value: Any) -> Float? {
        if let float = exact(value, Float.self) { return float }
        guard let double = double(value) else { return nil }
        let float = Float(double)
        return float.isFinite == double.isFinite ? float : nil
    }

    static func keptValue<T>(_ value: Any, _ type: T.Type) -> T? {
        if let value = value as? T { return value }
        guard T.self == Decimal.self, let integer = integer(value, Int64.self) else { return nil }
        return Decimal(integer) as? T
    }

    /// The value if it has exactly that type; a cast alone would also turn numbers of Foundation into booleans.
    private static func exact<T>(_ value: Any, _ type: T.Type) -> T? {
        Swift.type(of: value) == T.self ? value as? T : nil
    }

    static func dictionary(_ value: Any) -> [String: Any]? {
        if let dictionary = value as? [String: Any] { return dictionary }
        // Entries whose keys are not strings are left out: they belong to other code.
        return (value as? [AnyHashable: Any]).map(strings)
    }

    static func strings(_ dictionary: [AnyHashable: Any]) -> [String: Any] {
        var strings: [String: Any] = [:]
        for (key, value) in dictionary {
            if let key = key as? String { strings[key] = value }
        }
        return strings
    }

    // MARK: - Describing

    private static let shown = 40

    /// Describes the value in a few words, without asking objects of the program for their descriptions.
    static func describe(_ value: Any) -> String {
        if isNull(value) { return "null" }
        if let bool = exact(value, Bool.self) { return "\(bool)" }
        if let text = value as? String { return text.count > shown ? "\"\(text.prefix(shown))…\"" : "\"\(text)\"" }
        if let number = value as? NSNumber { return "the number \(number)" }
        if value is [AnyHashable: Any] { return "a dictionary" }
        if value is [Any] { return "an array" }
        return "of type \(Swift.type(of: value))"
    }
}

/// Finds the nils in a dictionary whose values may be anything.
private protocol MaybeAbsent {
    var isAbsent: Bool { get }
}

extension Optional: MaybeAbsent {
    fileprivate var isAbsent: Bool { self == nil }
}

public import DomainEvents

// On some systems the small half of Foundation is a module of its own; the others have only the whole.
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

// These conformances are apart from their types, so a program that only publishes within itself starts without
// Foundation. Every process of a bridge loads Foundation's small half in any case, for its dates.

/// Gives a program that shows errors by their `localizedDescription` the same sentence as `description`.
extension DeliveryError: LocalizedError {
    /// The same sentence as ``DeliveryError/description``.
    public var errorDescription: String? { description }
}

/// Gives a program that shows errors by their `localizedDescription` the same sentence as `description`.
extension EventsMissed: LocalizedError {
    /// The same sentence as ``EventsMissed/description``.
    public var errorDescription: String? { description }
}

/// Gives a program that shows errors by their `localizedDescription` the same sentence as `description`.
extension RequestFailed: LocalizedError {
    /// The same sentence as ``RequestFailed/description``.
    public var errorDescription: String? { description }
}

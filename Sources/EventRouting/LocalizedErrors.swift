public import DomainEvents

// On some systems the small half of Foundation is a module of its own; the others have only the whole.
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

// These conformances are here and not beside the types. Every process of a bridge has the small half of Foundation for
// its dates; a program that only publishes within itself starts without it.

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

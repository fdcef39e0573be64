public import DomainEvents

// Where the small half of Foundation exists, it is its own module; elsewhere there is only the whole.
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

// These conformances are here and not beside the types. Every process of a bridge has the small half of Foundation for
// its dates; a program that only publishes within itself starts without it.

/// The same sentence for a program that shows errors by their `localizedDescription`.
extension DeliveryError: LocalizedError {
    /// What ``DeliveryError/description`` says.
    public var errorDescription: String? { description }
}

/// The same sentence for a program that shows errors by their `localizedDescription`.
extension EventsMissed: LocalizedError {
    /// What ``EventsMissed/description`` says.
    public var errorDescription: String? { description }
}

/// The same sentence for a program that shows errors by their `localizedDescription`.
extension RequestFailed: LocalizedError {
    /// What ``RequestFailed/description`` says.
    public var errorDescription: String? { description }
}

import DomainEvents
package import ExampleDomain

/// An event that answers a request to provisioning, in a form that the store can keep and publish again.
package enum ProvisioningOutcome: Codable, Sendable {
    case boxItemsRedistributionFailed(BoxItemsRedistributionFailed)
    case boxProvisioned(BoxProvisioned)
    case boxProvisioningFailed(BoxProvisioningFailed)
    case boxRemovalFailed(BoxRemovalFailed)
    case boxRemoved(BoxRemoved)
    case itemDistributionFailed(ItemDistributionFailed)
    case itemMoved(ItemMoved)
    case itemProvisioned(ItemProvisioned)
    case itemRemovalFailed(ItemRemovalFailed)
    case itemRemoved(ItemRemoved)

    func publish(with publisher: EventPublisher) {
        switch self {
        case .boxItemsRedistributionFailed(let event): publisher.publish(event)
        case .boxProvisioned(let event): publisher.publish(event)
        case .boxProvisioningFailed(let event): publisher.publish(event)
        case .boxRemovalFailed(let event): publisher.publish(event)
        case .boxRemoved(let event): publisher.publish(event)
        case .itemDistributionFailed(let event): publisher.publish(event)
        case .itemMoved(let event): publisher.publish(event)
        case .itemProvisioned(let event): publisher.publish(event)
        case .itemRemovalFailed(let event): publisher.publish(event)
        case .itemRemoved(let event): publisher.publish(event)
        }
    }
}

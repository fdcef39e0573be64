import DomainEvents
import Journal

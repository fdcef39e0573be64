import DomainEvents
import Journal

var journal: EventJournal { fatalError() }

import BridgeClient
import DomainEvents
import Glibc

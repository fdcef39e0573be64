// What a specification of a worker is written with: when to start it anew, how to stop it, when it is taken for dead.
@_exported public import Supervision

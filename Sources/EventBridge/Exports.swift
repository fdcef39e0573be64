// A worker's specification needs it: when to start it anew, how to stop it, when it is taken for dead.
@_exported public import Supervision

// A worker's specification uses the types of `Supervision`: for starts, restarts, heartbeats and shutdowns.
@_exported public import Supervision

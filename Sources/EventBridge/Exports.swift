// A worker's specification uses its types: for starts, restarts, heartbeats and shutdowns.
@_exported public import Supervision

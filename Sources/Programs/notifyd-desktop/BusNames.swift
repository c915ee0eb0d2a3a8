import NotifyClient

/// The module `Routing` has a type of the same name.
typealias BusValue = Value
typealias BusEventID = EventID

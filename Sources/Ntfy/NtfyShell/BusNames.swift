import NotifyClient

// `Routing` has types of the same names.
typealias BusValue = Value
typealias BusFields = Fields

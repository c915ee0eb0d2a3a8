import NotifyBridge
import NotifyClient

// `NotifyClient` is a module and a type in it, so that its other types cannot be named with the module. Where `Routing`
// or
// `LinkMessages` have one of the same name, these names are used.
typealias BusValue = Value
typealias BusFields = Fields
typealias BusEventID = EventID
typealias BusEvent = Event
typealias BusLetter = DeadLetter

extension DaemonLink {
    /// The property `Device` of notifyd; `nil` if it does not say, or its journal cannot be read.
    func device() async -> String? {
        let reply = try? await connection.call(.toProperties("Get", [.string("Device")]))
        guard let first = reply?.arguments.first else { return nil }
        if case .variant(let value) = first { return value.string }
        return first.string
    }
}

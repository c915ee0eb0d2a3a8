/// The message bus itself.
///
/// [Message bus messages](https://dbus.freedesktop.org/doc/dbus-specification.html#message-bus-messages)
package enum Bus {
    package static let name = "org.freedesktop.DBus"
    package static let path = "/org/freedesktop/DBus"
    package static let interface = "org.freedesktop.DBus"
}

extension Connection {
    /// Returns when the bus has acknowledged the rule: every signal sent after that is received.
    package func addMatch(_ rule: MatchRule) async throws(NotifyError) {
        _ = try await call(.toBus("AddMatch", [.string(rule.text)]))
    }

    /// Adds a rule without waiting for the reply. What is sent after this reaches the bus after it.
    package func requestMatch(_ rule: MatchRule) { tellBus("AddMatch", rule) }

    /// Removes one rule, without waiting for the reply.
    package func removeMatch(_ rule: MatchRule) { tellBus("RemoveMatch", rule) }

    private func tellBus(_ member: String, _ rule: MatchRule) {
        var message = Message.toBus(member, [.string(rule.text)])
        message.expectsReply = false
        send(message)
    }

    /// Requests a name, without queueing for it and without replacing its owner.
    ///
    /// - Throws: `refused` when it is taken.
    package func requestName(_ name: String) async throws(NotifyError) {
        let doNotQueue: UInt32 = 4
        let reply = try await call(.toBus("RequestName", [.string(name), .uint32(doNotQueue)]))
        let isOwner = reply.arguments.first.flatMap { $0.integer(as: Int.self) } == 1
        if !isOwner { throw NotifyError(.refused, "The name \(name) is owned by another connection on this bus.") }
    }

    package func releaseName(_ name: String) async throws(NotifyError) {
        _ = try await call(.toBus("ReleaseName", [.string(name)]))
    }

    /// The unique name of the owner, or `nil`. This does not start a service.
    package func owner(of name: String) async throws(NotifyError) -> String? {
        do {
            return try await call(.toBus("GetNameOwner", [.string(name)])).arguments.first?.string
        } catch {
            if error.name == "org.freedesktop.DBus.Error.NameHasNoOwner" { return nil }
            throw error
        }
    }

    /// The process id of the owner of a name; `nil` if the bus does not say it, because it has left meanwhile, for
    /// example.
    package func process(of name: String) async throws(NotifyError) -> UInt32? {
        do {
            return try await call(.toBus("GetConnectionUnixProcessID", [.string(name)])).arguments.first?.integer()
        } catch {
            if error.code == .refused || isOpen { return nil }
            throw error
        }
    }
}

import NotifyClient

extension Message {
    /// A call of an application by its id: `org.freedesktop.Application` of the
    /// [Desktop Entry Specification](https://specifications.freedesktop.org/desktop-entry-spec/latest/dbus.html).
    static func toApplication(_ app: String, _ member: String, _ arguments: [Value]) -> Message {
        let path = "/" + app.replacing(".", with: "/").replacing("-", with: "_")
        return .call(member, of: "org.freedesktop.Application", at: path, on: app, arguments)
    }
}

import NotifyBridge
import NotifyClient
import NotifyText
import Watching

extension Notice {
    /// The arguments of `Notify`.
    static let signature = "susssasa{sv}i"

    /// Reads the arguments of `Notify`; `nil` if they are not.
    ///
    /// - Parameter hasMarkup: whether the server has the capability `body-markup`, so that programs write markup.
    init?(_ arguments: [Value], hasMarkup: Bool) {
        guard arguments.map(\.type.signature).joined() == Self.signature else { return nil }
        let texts = arguments.map { $0.string ?? "" }
        let hints = arguments[6].entries ?? [:]
        func text(_ names: String...) -> String { names.lazy.compactMap { hints[$0]?.string }.first ?? "" }
        self.init()
        app = texts[0]
        icon = texts[2]
        title = texts[3]
        body = hasMarkup ? Self.plainText(ofMarkup: texts[4]) : texts[4]
        let keys = (arguments[5].elements ?? []).compactMap(\.string)
        buttons = stride(from: 0, to: keys.count - 1, by: 2).map { Button(key: keys[$0], label: keys[$0 + 1]) }
        urgency = hints["urgency"]?.integer()
        category = text("category")
        desktopEntry = text("desktop-entry")
        image = text("image-path", "image_path")
        sound = text("sound-name")
        timeout = arguments[7].integer(as: Int.self).flatMap { $0 < 0 ? nil : $0 }
        isResident = hints["resident"]?.isTrue ?? false
        progress = hints["value"]?.integer()
        isTransient = hints["transient"]?.isTrue ?? false
        isOfNotifyd = hints["x-notifyd"] != nil
        isSynchronous = hints["x-canonical-private-synchronous"] != nil || hints["synchronous"] != nil
    }

    /// The arguments of `Notify` with which this program shows it.
    ///
    /// - Parameter number: of the banner whose place it takes; 0: none.
    func arguments(hasMarkup: Bool, replacing number: UInt32) -> [Value] {
        let notice = publishable
        // A watcher is not told who has sent it.
        var hints: [String: Value] = ["x-notifyd": true]
        hints["urgency"] = notice.urgency.map { .byte($0) }
        for (name, text) in [
            ("category", notice.category), ("desktop-entry", notice.desktopEntry), ("image-path", notice.image),
            ("sound-name", notice.sound),
        ] where !text.isEmpty { hints[name] = .string(text) }
        if notice.isResident { hints["resident"] = .boolean(true) }
        hints["value"] = notice.progress.map { .int32(Int32($0)) }
        return [
            .string(notice.app), .uint32(number), .string(notice.icon), .string(notice.title),
            .string(hasMarkup ? notice.body.escapedMarkup : notice.body),
            .strings(notice.buttons.flatMap { [$0.key, $0.label] }), .variants(hints),
            .int32(notice.timeout.map { Int32(clamping: $0) } ?? -1),
        ]
    }

    /// Reads what a program of GTK gives to `AddNotification` of `org.gtk.Notifications`: the application, its name for
    /// it and the notification.
    init(app: String, gtk notification: [String: Value]) {
        self.init()
        self.app = app
        desktopEntry = app
        title = notification["title"]?.string ?? ""
        body = notification["body"]?.string ?? ""
        // A serialized GIcon: "themed" with names, "file" with an address.
        if let icon = notification["icon"]?.elements, icon.count == 2, let kind = icon[0].string {
            if kind == "themed" { self.icon = icon[1].elements?.first?.string ?? "" }
            if kind == "file" { self.icon = icon[1].string ?? "" }
        }
        switch notification["priority"]?.string {
        case "urgent": urgency = 2
        case "low": urgency = 0
        default: urgency = notification["priority"] == nil ? nil : 1
        }
        // An action with a parameter is out of reach: notifyd passes a name on, and no more.
        buttons = Self.actions(gtk: notification).filter { $0.target == nil }.map {
            Button(key: $0.name, label: $0.label)
        }
    }

    /// The default action and the buttons of a notification of GTK.
    static func actions(
        gtk notification: [String: Value]
    ) -> [(name: String, target: Value?, label: String, isDefault: Bool)] {
        let standard = notification["default-action"]?.string.map { name in
            (name: name, target: notification["default-action-target"], label: "Open", isDefault: true)
        }
        let buttons = (notification["buttons"]?.elements ?? []).compactMap(\.entries).compactMap { entries in
            entries["action"]?.string.map { name in
                (name: name, target: entries["target"], label: entries["label"]?.string ?? name, isDefault: false)
            }
        }
        return [standard].compactMap(\.self) + buttons
    }

    /// The call of `Publish` for its event.
    func call(_ name: DesktopName, _ route: DesktopRules.Route, collapse: String?, time: Int64) -> DaemonCall {
        let notice = publishable
        var fields = Fields(["keep": .uint32(UInt32(route.keep.components.seconds))])
        if !notice.app.isEmpty { fields["app"] = .string(notice.app) }
        if !notice.desktopEntry.isEmpty { fields["desktop-entry"] = .string(notice.desktopEntry) }
        func given(_ text: String) -> String? { text.isEmpty ? nil : text }
        let options = PublishOptions(
            source: name.source, eventID: name.eventID,
            urgency: notice.urgency.flatMap(PublishOptions.Urgency.init(rawValue:)), published: time,
            collapse: collapse, ownBanner: true,
            appearance: BannerOptions(
                app: given(notice.app), icon: given(notice.icon), image: given(notice.image),
                category: given(notice.category), sound: given(notice.sound), desktopEntry: given(notice.desktopEntry),
                timeout: notice.timeout.map { .milliseconds($0) }, isResident: notice.isResident ? true : nil,
                progress: notice.progress,
                buttons: notice.buttons.map { BannerOptions.Button(key: $0.key, label: $0.label) }))
        return .publish(
            route.topic.description, title: notice.title, body: notice.body, fields: fields, options: options)
    }
}

extension Value {
    /// Some programs send a number where the specification has a boolean.
    fileprivate var isTrue: Bool { boolean ?? (integer(as: Int64.self).map { $0 != 0 } ?? false) }
}

extension Message {
    /// A call of an application by its id: `org.freedesktop.Application` of the
    /// [Desktop Entry Specification](https://specifications.freedesktop.org/desktop-entry-spec/latest/dbus.html).
    static func toApplication(_ app: String, _ member: String, _ arguments: [Value]) -> Message {
        let path = "/" + app.replacing(".", with: "/").replacing("-", with: "_")
        return .call(member, of: "org.freedesktop.Application", at: path, on: app, arguments)
    }
}

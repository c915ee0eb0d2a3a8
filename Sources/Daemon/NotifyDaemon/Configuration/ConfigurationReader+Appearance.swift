import NotifyText
import Routing
import TOMLTables

// The appearance and the buttons of a route's banner.
extension ConfigurationReader {
    private static let maximumActions = 32

    func readAppearance(_ reader: inout TableReader) -> Appearance {
        var appearance = Appearance()
        appearance.app = reader.string("app")
        appearance.icon = reader.string("icon") ?? ""
        if !Appearance.isIcon(appearance.icon) {
            reader.note(
                "icon",
                "'icon' must be a name from the icon theme, such as \"mail-unread\", or a local file, such as "
                    + "\"file:///usr/share/pixmaps/post.png\"")
        }
        appearance.image = reader.string("image")
        if let image = appearance.image, !Appearance.isLocalFile(image) {
            reader.note(
                "image", "'image' is not a local file; it must be one, such as \"file:///usr/share/pixmaps/post.png\"")
        }
        appearance.urgency = reader.word("urgency", of: UrgencyName.self).map(\.urgency)
        appearance.category = reader.string("category")
        appearance.sound = reader.string("sound")
        appearance.desktopEntry = reader.string("desktop_entry")
        appearance.timeout = reader.duration("timeout", upTo: .seconds(24 * 3600))
        appearance.transient = reader.boolean("transient")
        appearance.resident = reader.boolean("resident")
        for table in reader.tables("actions", upTo: Self.maximumActions) {
            var action = TableReader(table, in: reader.source)
            guard let read = readAction(&action) else { continue }
            if appearance.actions.contains(where: { $0.key.bytes == read.key.bytes }) {
                action.note("key", "the action '\(PlainText.excerpt(read.key))' is there twice")
            }
            appearance.actions.append(read)
        }
        return appearance
    }

    private func readAction(_ reader: inout TableReader) -> Route.Action? {
        let key = reader.string("key")
        let label = reader.string("label")
        let command = reader.strings("exec")?.map(\.text) ?? []
        if reader.isEmptyList("exec") || command.first?.isEmpty == true {
            reader.note(
                "exec",
                "'exec' must be a program and its arguments, such as [\"notify-log\", \"--quick\"]")
        }
        let application = reader.string("activate")
        reader.finish()
        if !reader.has("key") || !reader.has("label") || key?.isEmpty == true {
            reader.source.note(
                at: reader.offset, "an action needs a key and a label: { key = \"accept\", label = \"Join\" }")
        }
        if let application, !Self.isBusName(application) {
            reader.note(
                "activate",
                "\"\(PlainText.excerpt(application))\" is not an application; it must be the bus name of one, such as "
                    + "\"org.example.Runs\"")
        }
        guard let key, let label else { return nil }
        return Route.Action(key: key, label: label, command: command, application: application)
    }

    /// Valid bus names of the D-Bus specification that can be turned into an object path.
    private static func isBusName(_ text: String) -> Bool {
        guard text.utf8.count <= 255 else { return false }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count >= 2
            && parts.allSatisfy { part in
                guard let first = part.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
                    return false
                }
                return part.unicodeScalars.allSatisfy {
                    $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || $0 == "_" || $0 == "-")
                }
            }
    }
}

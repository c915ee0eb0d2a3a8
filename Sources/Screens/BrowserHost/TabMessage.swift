import NotifyJSON
package import TabRules

/// What the extension sends: the tabs in front of all windows, the focused one first.
///
///     {"version":1,"tabs":[{"id":7,"address":"https://…","topic":"/post/27","focused":true,"visible":true}]}
package enum TabMessage {
    /// Of this protocol.
    static let version = 1

    /// - Throws: `FrameError`, which says what was wrong.
    package static func parse(_ bytes: [UInt8]) throws(FrameError) -> [Tab] {
        let message: JSON
        do throws(JSONError) {
            // A page may have half a surrogate pair in what it says, and must not keep other tabs from being
            // understood.
            message = try JSONParser.parse(bytes, repairsHalfPairs: true)
        } catch {
            throw FrameError("a message is not JSON: \(error)")
        }
        guard let version = message["version"]?.integer(as: Int.self) else {
            throw FrameError("a message has no 'version'; the extension of notifyd sends \(Self.version)")
        }
        guard version == Self.version else {
            throw FrameError(
                "the extension speaks version \(version), and this host version \(Self.version): update the older one")
        }
        guard let elements = message["tabs"]?.elements else {
            throw FrameError("a message has no list 'tabs'")
        }
        var tabs: [Tab] = []
        for element in elements {
            guard let id = element["id"]?.integer(as: Int.self), let address = element["address"]?.string,
                let isFocused = element["focused"]?.boolean, let isVisible = element["visible"]?.boolean
            else {
                throw FrameError("a tab has a number 'id', a text 'address', and the flags 'focused' and 'visible'")
            }
            tabs.append(
                Tab(
                    id: id, address: address, topic: element["topic"]?.string, isFocused: isFocused,
                    isVisible: isVisible))
        }
        return tabs
    }
}

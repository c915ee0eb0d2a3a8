import Mapping
import NotifyBridge
import NotifyClient
import NtfyMessages
import Routing

extension ServerAddress {
    /// The line by which events and claims came.
    var via: String { "ntfy:\(name)".beginning(ofBytes: 64) }

    /// Where a claim was made, in people's words.
    var device: String { name.beginning(ofBytes: 64) }
}

extension NtfyEvent {
    /// What notifyd is asked for.
    ///
    /// - Parameters:
    ///   - name: the topic at the server.
    ///   - picture: the path of a file.
    func call(from server: ServerAddress, _ name: String, picture: String?) -> DaemonCall {
        var fields = Fields()
        for (name, value) in self.fields { fields[name] = value.value }
        let appearance = BannerOptions(
            // A button that does nothing leaves the banner where it is; otherwise the event is claimed.
            app: "ntfy", image: picture, isResident: buttons.isEmpty ? nil : true,
            buttons: buttons.map { BannerOptions.Button(key: $0.key, label: $0.label) })
        let options = PublishOptions(
            source: server.source(ofTopic: name), eventID: eventID, urgency: PublishOptions.Urgency(rawValue: urgency),
            banner: isSilent ? false : nil, published: published, collapse: collapse, via: server.via,
            appearance: appearance)
        return .publish(topic.description, title: title, body: body, fields: fields, options: options)
    }
}

extension NtfyEvent.Field {
    fileprivate var value: BusValue {
        switch self {
        case .text(let text): .string(text)
        case .texts(let texts): .strings(texts)
        case .number(let number): .int64(number)
        }
    }
}

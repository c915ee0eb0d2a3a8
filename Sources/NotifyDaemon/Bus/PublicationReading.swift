package import Routing
package import Systemd

extension Publication {
    /// Reads the arguments of `Send` and `Publish`.
    ///
    /// - Throws: `Refusal`, or `SystemdError` where the message has other arguments.
    package init(reading call: borrowing BusMessage, by method: Method, limits: Limits) throws {
        let topic = try call.readString()
        let title = try call.readString()
        let body = try call.readString()
        self.init(
            topic: try Self.topic(topic), title: title, body: body, sender: call.sender, method: method,
            received: Clock.realtime(), size: topic.utf8.count + title.utf8.count + body.utf8.count)
        guard method == .publish else { return }
        var fields = DictionaryReader("field", limits: limits)
        self.fields = try fields.read(call)
        var options = DictionaryReader("option", limits: limits)
        self.options = try PublishOptions(try options.read(call))
        size += fields.size + options.size
    }

    private static func topic(_ text: String) throws(Refusal) -> Topic {
        do throws(TopicError) {
            return try Topic(text)
        } catch {
            throw .invalidTopic(error.description)
        }
    }
}

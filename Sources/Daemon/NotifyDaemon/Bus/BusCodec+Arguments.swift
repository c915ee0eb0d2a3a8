package import Routing
package import Systemd

/// Reads the arguments of calls.
extension BusCodec {
    /// - Throws: a refusal for every error of the body.
    func read<Result>(
        _ message: borrowing BusMessage, _ body: (borrowing BusMessage) throws -> Result
    ) throws(Refusal) -> Result {
        do {
            return try body(message)
        } catch let refusal as Refusal {
            throw refusal
        } catch let error as SystemdError where error.isNoncharacter {
            throw .invalidArguments(Refusal.noncharacter(in: "a text"))
        } catch let error as SystemdError where error.isTooLong {
            throw .tooLarge(
                "a text has more than \(BusMessage.longestText) bytes; "
                    + "a message may have \(limits.messageBytes) in all")
        } catch {
            throw .invalidArguments("the message cannot be read: \(error)")
        }
    }

    // MARK: Within `read`

    func prefix(_ call: borrowing BusMessage) throws -> TopicPrefix {
        let text = try call.readText("topic")
        do throws(TopicError) {
            return try TopicPrefix(text)
        } catch {
            throw Refusal.invalidTopic(error.description)
        }
    }

    func event(_ call: borrowing BusMessage) throws -> EventID { EventID(try call.readNumber("t")) }

    func screen(_ call: borrowing BusMessage) throws -> ScreenID { ScreenID(try call.readNumber("t")) }

    func limit(_ call: borrowing BusMessage) throws -> Int { Int(try call.readNumber("u", as: UInt32.self)) }

    func milliseconds(_ call: borrowing BusMessage) throws -> Duration { .milliseconds(Int64(try limit(call))) }

    func seconds(_ call: borrowing BusMessage) throws -> Duration { .seconds(Int64(try limit(call))) }

    func options(_ call: borrowing BusMessage) throws -> [Field] {
        var reader = DictionaryReader("option", limits: limits)
        return try reader.read(call)
    }
}

extension BusMessage {
    /// Reads a text.
    ///
    /// - Parameter name: what it is called in a refusal.
    func readText(_ name: String, as type: Unicode.Scalar = "s") throws -> String {
        do throws(SystemdError) {
            return try readString(as: type)
        } catch {
            guard error.isNoncharacter else { throw error }
            throw Refusal.invalidArguments(Refusal.noncharacter(in: "the \(name)"))
        }
    }
}

extension Refusal {
    /// sd-bus gives out no text with one, so it cannot be told which.
    fileprivate static func noncharacter(in what: String) -> String {
        "\(what) holds a noncharacter of Unicode, U+FDD0 to U+FDEF or one that ends in FFFE or FFFF, such as U+FFFF; "
            + "leave it out"
    }
}

extension Publication {
    /// Reads the arguments of `Send` and `Publish`.
    ///
    /// - Throws: `Refusal`, or `SystemdError` where the message has other arguments.
    package init(reading call: borrowing BusMessage, by method: Method, limits: Limits) throws {
        let topic = try call.readText("topic")
        let title = try call.readText("title")
        let body = try call.readText("body")
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

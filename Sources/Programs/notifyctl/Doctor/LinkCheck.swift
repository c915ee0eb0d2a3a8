import LinkSettings
import TOMLTables

/// Whether the link between devices is as it should be. That it is connected is said of the bridge.
struct LinkCheck {
    /// What a clock may differ without a word: more than a message takes.
    static let clockTolerance: Duration = .seconds(5)
    /// A device that was not heard for so long may be gone.
    static let longAbsence: Duration = .seconds(7 * 86_400)

    private static let check = "link"

    /// `nil` if there is no configuration.
    var configuration: Result<LinkSettings, ConfigurationError>?
    /// `nil` if notifyd-mqtt does not run, or does not answer.
    var info: LinkInfo?
    var isThere = false
    /// Whether notifyd-mqtt.service has failed; ``AbsentBridge`` tells that.
    var unitHasFailed = false
    /// Whether there is a service manager.
    var hasManager = true
    /// Microseconds since the epoch.
    var now: Int64 = 0

    /// None without a link.
    var findings: [Finding] {
        configurationFindings + (info?.lines ?? []).flatMap(findings) + (info?.devices ?? []).flatMap(findings)
    }

    private var configurationFindings: [Finding] {
        switch configuration {
        case nil: return []
        case .failure(let error):
            return [
                .problem(
                    Self.check, error.lines.first ?? "the configuration is bad",
                    "Correct it, then: notifyd-mqtt --check-config"
                        + (hasManager ? " && systemctl --user reload-or-restart notifyd-mqtt" : ""))
            ]
        case .success(let settings):
            var findings: [Finding] = []
            if !isThere, !unitHasFailed {
                findings.append(
                    .warning(
                        Self.check, "there is a configuration, but notifyd-mqtt does not run",
                        "Start it: "
                            + (hasManager
                                ? "systemctl --user enable --now notifyd-mqtt"
                                : "notifyd-mqtt --check-config && notifyd-mqtt")))
            }
            if settings.lines.contains(where: { $0.keys.isEmpty }) {
                findings.append(
                    .warning(
                        Self.check,
                        "without a key: the broker reads everything, and whoever may write there speaks for your devices",
                        "Make one: (umask 077; head -c 32 /dev/urandom | base64 > ~/.config/notifyd/link.key). Copy it to "
                            + "every device, and write into [link] of mqtt.toml: key = { file = \"link.key\" }"))
            }
            return findings
        }
    }

    private func findings(_ line: LinkInfo.Line) -> [Finding] {
        var findings: [Finding] = []
        func warn(_ problem: String, _ advice: String) {
            findings.append(.warning(Self.check, "\(Terminal.plain(line.title)): \(problem)", advice))
        }
        func count(_ messages: UInt64) -> String { "\(messages) message\(messages == 1 ? "" : "s")" }
        if line.forged > 0 {
            warn(
                "\(count(line.forged)) passed over: moved here from another topic, or in the name of somebody else",
                line.isChannel
                    ? "A member, or a stranger, forges messages; if a member has lost its key: notifyctl link forget NAME"
                    : "Somebody else writes below the topics of this user: look at the access list of the broker.")
        }
        if line.isCrowded {
            warn(
                "more devices than are taken; those that have said nothing make room for others",
                line.isChannel
                    ? "A member makes up devices: agree on another key without that member, or forget old ones: "
                        + "notifyctl link forget NAME"
                    : "Forget those that are gone: notifyctl link forget NAME")
        }
        guard line.unopened > 0 else { return findings }
        let advice =
            line.isChannel
            ? "Get the key of the channel from another member, and have all of them run this version of notifyd."
            : "On a device that works: notifyctl link pair. Here move mqtt.toml, mqtt.password, link.key and, where "
                + "there is one, mqtt.authorities.pem away, and then: notifyctl link join"
        let reason = line.isSealed ? "the others have another key" : "the others have a key"
        let version = line.isChannel ? ", or an older notifyd" : ""
        warn("\(count(line.unopened)) cannot be opened: \(reason)\(version)", advice)
        return findings
    }

    private func findings(_ device: LinkInfo.Device) -> [Finding] {
        var findings: [Finding] = []
        let title = Terminal.plain(device.title)
        let offset = device.clockOffset
        if device.isOnline, offset > Self.clockTolerance || offset < .zero - Self.clockTolerance {
            findings.append(
                .warning(
                    Self.check, "the clock of \(title) is \(offset.distanceText)",
                    "Have both set by the network: timedatectl set-ntp true. Of two values the later one wins."))
        }
        let absence = Duration.microseconds(now - device.seen)
        if !device.isOnline, device.seen > 0, absence > Self.longAbsence {
            findings.append(
                .warning(
                    Self.check, "\(title) was not heard for \(absence.components.seconds / 86_400) days",
                    "After 30 days it is dropped. If it does not come back: notifyctl link forget \(title)"))
        }
        return findings
    }

    static func ask(_ query: BusQuery) async -> LinkCheck {
        var check = LinkCheck(now: Timestamp.now)
        check.isThere = await query.owner(of: BridgeInfo.prefix + LinkInfo.bridge) != nil
        if check.isThere { check.info = try? await LinkInfo.ask(query) }
        let file = LinkFiles(nil).configuration
        do throws(ConfigurationError) {
            guard let text = try ConfigurationText.read(file) else { return check }
            check.configuration = .success(try LinkSettings.parse(text, file: file))
        } catch {
            check.configuration = .failure(error)
        }
        return check
    }
}

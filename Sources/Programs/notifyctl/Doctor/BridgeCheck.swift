/// Whether the bridges on the bus work.
struct BridgeCheck {
    var bridges: [BridgeInfo] = []

    /// None without a bridge: most people need none.
    var findings: [Finding] { bridges.flatMap(findings) }

    private func findings(_ bridge: BridgeInfo) -> [Finding] {
        let check = "bridge \(bridge.name)"
        var findings: [Finding] = []
        switch bridge.state {
        case nil:
            findings.append(
                .problem(
                    check, "on the bus, but it does not answer",
                    "Restart it: systemctl --user restart notifyd-\(bridge.name)"))
        case "failed"? where bridge.detail.contains("notifyctl link reset"):
            findings.append(
                .problem(
                    check, bridge.words,
                    "On each machine that has this device: notifyctl link reset. What was said before keeps its names.")
            )
        case "failed"?:
            findings.append(
                .problem(
                    check, bridge.words, "Its log says more: journalctl --user -t notifyd-\(bridge.name) -n 20"))
        default: findings.append(.ok(check, bridge.words))
        }
        if bridge.deadLetters > 0 {
            let count = bridge.deadLetters
            findings.append(
                .warning(
                    check, "\(count) dead letter\(count == 1 ? "" : "s"): what it could not deliver, and never will",
                    "“notifyctl bridges \(bridge.name) --dead-letters” says why; “--forget” instead deletes them."))
        }
        return findings
    }
}

import Glibc
import NotifyClient
import NotifyTestSupport
import Testing
import Watching

@testable import notifyctl

/// What `notifyctl doctor` makes of what it has gathered.
struct DoctorCheckTests {
    // MARK: Endpoints of UnifiedPush

    @Test func aNewAddressOfAnEndpointIsTold() {
        let day: Int64 = 86_400_000_000
        func findings(_ changed: Int64, isActivatable: Bool = true) -> [Finding] {
            let endpoint = PushEndpointInfo(["name": "post", "changed": .int64(changed)])
            return PushCheck(endpoints: [endpoint], isActivatable: isActivatable, now: 100 * day).findings
        }
        #expect(PushCheck(isActivatable: false).findings.isEmpty)
        #expect(findings(0).isEmpty && findings(92 * day).isEmpty)
        #expect(findings(99 * day).first?.state.hasPrefix("post has another address since") == true)
        let advice =
            "Give its sender the new one, if you have not: notifyctl push-endpoint show post. This is told for a week."
        #expect(findings(99 * day).first?.advice == advice)
        #expect(findings(0, isActivatable: false).first?.state.contains("cannot start notifyd-unifiedpush") == true)
    }

    // MARK: The unit

    @Test(arguments: [217, 218, 226])
    func aUnitThatFailsForWantOfNamespacesIsToldToLeaveThemOut(_ status: Int) {
        var unit = UnitCheck(
            hasManager: true, loadState: "loaded", activeState: "failed",
            failure: UnitFailure(unit: "notifyd", result: "exit-code", exitStatus: status))
        for isTested in [nil, true] as [Bool?] {
            unit.allowsNamespaces = isTested
            #expect(unit.finding.state == "failed with \(status): systemd could not set up the unit's namespaces")
            #expect(unit.finding.advice?.contains("journalctl --user -u notifyd") == true)
        }
        unit.allowsNamespaces = false
        #expect(unit.finding.state.contains("users get no user namespaces on this system"))
        #expect(unit.finding.level == .problem)
        #expect(unit.finding.advice?.contains("ln -s /dev/null ~/.config/systemd/user/notifyd.service.d/") == true)
    }

    @Test func theSettingThatForbidsNamespacesIsNamed() {
        let setting = "kernel.apparmor_restrict_unprivileged_userns"
        let file = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
        #expect(NamespaceObstacle.find { $0 == file ? "0\n" : nil } == nil)
        let obstacle = NamespaceObstacle.find { $0 == file ? "1\n" : nil }
        #expect(obstacle == .setting("\(setting)=1"))
        // unshare(1) may be allowed what systemd is not.
        let unit = UnitCheck(
            hasManager: true, loadState: "loaded", activeState: "failed",
            failure: UnitFailure(unit: "notifyd", result: "exit-code", exitStatus: 226, obstacle: obstacle),
            allowsNamespaces: true)
        #expect(
            unit.finding.state == "failed with 226: users get no user namespaces on this system (\(setting)=1)")
        #expect(unit.finding.advice?.contains("ln -s /dev/null ~/.config/systemd/user/notifyd.service.d/") == true)
        let bridge = UnitFailure(unit: "notifyd-ntfy", exitStatus: 218, obstacle: obstacle)
        #expect(bridge.advice.contains("ln -s /dev/null ~/.config/systemd/user/notifyd-ntfy.service.d/"))
    }

    @Test func aMountBelowSharedMemoryThatStopsTheUnitIsNamed() {
        func find(_ mounted: String) -> NamespaceObstacle? {
            NamespaceObstacle.find {
                $0 == "/proc/self/mountinfo"
                    ? "25 24 0:23 / /dev/shm rw - tmpfs tmpfs rw\n31 25 0:41 / \(mounted) rw - tmpfs none rw\n" : nil
            }
        }
        #expect(find("/var/lib/docker/overlay2/a/merged") == nil && find("/dev/shm-2") == nil)
        #expect(find("/dev/shm/disk") == .mount("/dev/shm/disk"))
        let unit = UnitFailure(unit: "notifyd", exitStatus: 226, obstacle: find("/dev/shm/disk"))
        #expect(unit.state == "failed with 226: systemd cannot set up PrivateDevices= while /dev/shm/disk is mounted")
        #expect(unit.advice.hasPrefix("Unmount it, as root: umount /dev/shm/disk. Then: systemctl --user reset-failed"))
    }

    private static func failed(result: String = "", exitStatus: Int = 0) -> UnitCheck {
        UnitCheck(
            hasManager: true, loadState: "loaded", activeState: "failed",
            failure: UnitFailure(unit: "notifyd", result: result, exitStatus: exitStatus))
    }

    @Test(arguments: [
        (UnitCheck(), Finding.Level.ok),
        (UnitCheck(hasManager: true, loadState: "not-found"), .warning),
        (UnitCheck(hasManager: true, loadState: "masked"), .problem),
        (UnitCheck(hasManager: true, loadState: "bad-setting"), .problem),
        (UnitCheck(hasManager: true, loadState: "loaded", activeState: "active"), .ok),
        (UnitCheck(hasManager: true, loadState: "loaded", activeState: "inactive"), .ok),
        (UnitCheck(hasManager: true, loadState: "loaded", activeState: "active", needsReload: true), .warning),
        (failed(exitStatus: 78), .problem), (failed(exitStatus: 69), .problem), (failed(result: "oom-kill"), .problem),
    ])
    func theUnitIsAsTheManagerSeesIt(_ unit: UnitCheck, _ level: Finding.Level) {
        #expect(unit.finding.level == level)
        #expect((unit.finding.advice == nil) == (level == .ok))
    }

    @Test func aCredentialThatIsMissingIsNamed() {
        let pair = Value.structure(["ntfy", "/nowhere/ntfy.token"])
        let here = Value.structure(["other", "/dev/null"])
        let failure = UnitFailure(
            "notifyd-ntfy",
            [
                "Result": "exit-code", "ExecMainStatus": .int32(243),
                "LoadCredential": .array([here, pair], of: pair.type),
            ])
        let finding = AbsentBridge(name: "ntfy", hasManager: true, failure: failure).finding
        #expect(finding.level == .problem && finding.state.contains("243/CREDENTIALS"))
        #expect(finding.advice?.contains("readable for you: it is /nowhere/ntfy.token. Then: systemctl") == true)
        let router = UnitCheck(
            hasManager: true, loadState: "loaded", activeState: "failed",
            failure: UnitFailure(unit: "notifyd", exitStatus: 243, credentials: ["/nowhere/a"]))
        #expect(router.finding.advice?.contains("/nowhere/a") == true)
        let push = AbsentBridge(
            name: "unifiedpush", failure: UnitFailure(unit: "notifyd-unifiedpush", result: "oom-kill")
        ).finding
        #expect(push.state == "notifyd-unifiedpush failed (oom-kill, exit status 0)")
        #expect(push.advice?.contains("journalctl --user -u notifyd-unifiedpush says why") == true)
    }

    // MARK: The sandbox

    @Test func theSettingsOfTheSandboxAreThoseOfTheUnit() throws {
        for (file, settings) in [
            ("notifyd.service", SandboxSettings.unit),
            ("notifyd.service.d/namespaces.conf", SandboxSettings.namespaces),
        ] {
            let lines = try Project.text("systemd/\(file)").split(separator: "\n")
            for setting in settings { #expect(lines.contains("\(setting.name)=\(setting.value)"), "\(file)") }
        }
    }

    @Test func aSandboxThatADropInHasLoosenedIsNotComplete() {
        func list(_ names: Value...) -> Value { .structure([true, .array(names, of: .string)]) }
        var service: [String: Value] = [
            "RestrictNamespaces": .uint64(0), "CapabilityBoundingSet": .uint64(0), "LimitCORE": .uint64(0),
            "UMask": .uint32(0o077), "KeyringMode": "private", "RestrictAddressFamilies": list("AF_UNIX"),
            "SystemCallFilter": list("read", "write"), "SystemCallArchitectures": .array(["native"], of: .string),
            "ProtectSystem": "strict", "ProtectHome": "read-only", "DevicePolicy": "closed",
            "ProtectProc": "invisible", "ProcSubset": "pid",
        ]
        for (name, value) in SandboxSettings.unit + SandboxSettings.namespaces where value == "yes" {
            service[name] = service[name] ?? true
        }
        #expect(SandboxSettings.loosened(service).isEmpty)
        #expect(SandboxSettings.loosened([:]).isEmpty)
        let weaker: [(String, Value)] = [
            ("PrivateNetwork", false), ("ProtectSystem", "full"), ("RestrictNamespaces", .uint64(1 << 17)),
            ("RestrictAddressFamilies", list("AF_UNIX", "AF_INET")), ("SystemCallFilter", list("read", "chroot")),
            ("UMask", .uint32(0o022)), ("NoNewPrivileges", false), ("LimitCORE", .uint64(.max)),
        ]
        for (name, value) in weaker {
            #expect(SandboxSettings.loosened(service.merging([name: value]) { $1 }) == [name])
        }
        // Without namespaces.conf the rest counts.
        service["PrivateUsers"] = false
        service["PrivateNetwork"] = false
        #expect(SandboxSettings.loosened(service).isEmpty)
        let facts = ProcessFacts(gainsNoPrivileges: true, filtersCalls: true, hasOwnUsers: true)
        let check = SandboxCheck(
            hasManager: true, wantsNamespaces: true, process: facts, loosened: ["PrivateNetwork"])
        #expect(check.finding?.level == .warning && check.finding?.state.contains("PrivateNetwork") == true)
    }

    @Test func aSandboxCountsByWhatTheKernelSays() {
        let complete = ProcessFacts(gainsNoPrivileges: true, filtersCalls: true, hasOwnUsers: true)
        let callsOnly = ProcessFacts(gainsNoPrivileges: true, filtersCalls: true)
        func level(_ wants: Bool?, _ process: ProcessFacts?, hasManager: Bool = true) -> Finding.Level? {
            SandboxCheck(hasManager: hasManager, wantsNamespaces: wants, process: process).finding?.level
        }
        #expect(level(true, complete) == .ok)
        #expect(level(false, callsOnly) == .ok)
        #expect(level(true, callsOnly) == .problem)
        #expect(level(false, ProcessFacts()) == .problem)
        #expect(level(nil, ProcessFacts()) == .warning)
        #expect(level(nil, ProcessFacts(), hasManager: false) == .ok)
        #expect(level(true, nil) == nil)
    }

    @Test func aLinkIsJudgedByItsKeyItsClocksAndItsDevices() {
        let day: Int64 = 86_400_000_000
        func device(_ name: String, online: Bool, seen: Int64, offset: Int64 = 0) -> [String: Value] {
            [
                "device": .string(name + "-id"), "name": .string(name), "online": .boolean(online),
                "seen": .int64(seen),
                "clock-offset": .int64(offset),
            ]
        }
        func findings(line facts: [String: Value] = [:], _ devices: [String: Value]...) -> [Finding] {
            let line: [String: Value] = [
                "line": "mqtt", "sealed": true,
                "devices": .array(devices.map { .variants($0) }, of: .dictionary(keys: .string, values: .variant)),
            ]
            return LinkCheck(info: LinkInfo([:], [line.merging(facts) { $1 }]), now: 100 * day).findings
        }
        #expect(LinkCheck().findings.isEmpty)
        #expect(
            findings(
                device("phone", online: true, seen: 1, offset: 4_900_000), device("pc", online: false, seen: 94 * day)
            ).isEmpty)
        #expect(findings(line: ["sealed": false]).first?.state.contains("the broker reads everything") == true)
        let alone = AbsentBridge(name: "mqtt").finding
        #expect(alone.state == "there is a configuration, but notifyd-mqtt does not run")
        #expect(alone.advice?.hasSuffix("want it, or start it: notifyd-mqtt --check-config && notifyd-mqtt") == true)
        let clock = findings(device("phone", online: true, seen: 1, offset: -6_000_000))
        #expect(clock.map(\.state) == ["the clock of phone is 6.00 s behind"])
        let forged = findings(line: ["line": "mqtt:run", "forged": .uint64(1), "crowded": .boolean(true)])
        #expect(
            forged.map(\.state) == [
                "channel run: 1 message passed over: moved here from another topic, or in the name of somebody else",
                "channel run: more devices than are taken; those that have said nothing make room for others",
            ])
        let absent = findings(device("phone", online: false, seen: 90 * day))
        #expect(absent.map(\.state) == ["phone was not heard for 10 days"])
        #expect(absent.first?.advice?.contains("notifyctl link forget phone") == true)
    }

    @Test func aBridgeThatShouldRunIsMissedAndItsProblemsAreTold() {
        func finding(_ change: (inout AbsentBridge) -> Void) -> Finding? {
            var bridge = AbsentBridge(name: "ntfy", hasManager: true)
            change(&bridge)
            return BridgeCheck(absent: [bridge]).findings.first
        }
        let away = "Move ntfy.toml away if you do not want it, or start it: "
        #expect(finding { _ in }?.advice == away + "systemctl --user enable --now notifyd-ntfy")
        #expect(finding { $0.hasManager = false }?.advice == away + "notifyd-ntfy --check-config && notifyd-ntfy")
        let waiting = finding { $0.missing = "/home/mina/.config/notifyd/ntfy.toml" }
        #expect(waiting?.level == .warning && waiting?.advice?.hasPrefix("Write /home/mina/") == true)
        let bad = finding { $0.failure = UnitFailure(unit: "notifyd-ntfy", exitStatus: 78) }
        #expect(bad?.level == .problem && bad?.advice?.contains("--check-config says") == true)
        let problem = Value.structure(["ntfy.sh: it does not allow this user to read \"a\"", "Allow it at the server."])
        var bridge = BridgeInfo(
            name: "ntfy",
            ["State": "connected", "Detail": "ntfy.sh", "Problems": .array([problem], of: problem.type)])
        bridge.diagnosis = bridge.problems
        #expect(BridgeCheck(bridges: [bridge]).findings.map(\.level) == [.ok, .warning])
        #expect(BridgeCheck(bridges: [bridge]).findings.last?.advice == "Allow it at the server.")
        #expect(bridge.fullWords == "connected (ntfy.sh); ntfy.sh: it does not allow this user to read \"a\"")
        // What the detail says is not repeated.
        let page = "ntfy.sh: it answers with a page; is 'url' a server of ntfy?"
        for state in ["connecting", "waiting", "failed"] {
            var wrong = BridgeInfo(
                name: "ntfy",
                [
                    "State": .string(state), "Detail": .string(page),
                    "Problems": .array([.structure([.string(page), "Correct 'url'."])], of: problem.type),
                ])
            #expect(wrong.fullWords == "\(state) (\(page))")
            wrong.diagnosis = [(wrong.words, "Correct 'url'.")]
            #expect(BridgeCheck(bridges: [wrong]).findings.map(\.advice) == ["Correct 'url'."])
        }
    }

    @Test func aProcessIsLookedAt() throws {
        let facts = try #require(ProcessFacts(of: Int(getpid())))
        #expect(!facts.hasOwnUsers)
        #expect(ProcessFacts(of: 0) == nil)
    }

    // MARK: notifyd

    @Test func aRouterIsJudgedByItsAnswerItsVersionAndItsProcess() {
        func levels(_ change: (inout RouterCheck) -> Void) -> [Finding.Level] {
            var check = RouterCheck(
                isRunning: true, properties: ["Version": "1"], ownVersion: "1", process: 7,
                unit: UnitCheck(service: ["MainPID": .uint32(7)]), isActivatable: true)
            change(&check)
            return check.findings.map(\.level)
        }
        #expect(levels { _ in } == [.ok, .ok])
        #expect(levels { $0.properties = [:] } == [.problem, .ok])
        #expect(levels { $0.isRunning = false } == [.ok, .ok])
        let masked = UnitCheck(hasManager: true, loadState: "masked")
        #expect(levels { ($0.isRunning, $0.unit) = (false, masked) } == [.problem, .warning])
        #expect(levels { $0.properties["Version"] = "2" } == [.warning, .ok])
        #expect(levels { $0.unit.service["MainPID"] = .uint32(8) } == [.warning, .ok])
        #expect(levels { $0.unit.service = [:] } == [.ok, .ok])
        #expect(levels { ($0.isRunning, $0.unit.activeState) = (false, "failed") } == [.problem, .ok])
        let full = Value.variants(["awaited-fill": .uint64(90)])
        #expect(levels { $0.properties["Statistics"] = full } == [.ok, .ok, .warning])
    }

    private func quietRouter(_ cause: Value, until: Int64 = 0, _ more: [String: Value] = [:]) -> RouterCheck {
        let quiet = Value.structure(["/", .int64(until), cause])
        return RouterCheck(
            isRunning: true,
            properties: ["Version": "1", "Quiet": .array([quiet], of: quiet.type)].merging(more) { $1 },
            ownVersion: "1", isActivatable: true)
    }

    @Test(arguments: ["paused", "muted", "schedule", "later"])
    func quietThatWasAskedForIsNoWarning(_ cause: String) throws {
        let check = quietRouter(.string(cause), until: 7_200_000_000, ["Paused": .boolean(cause == "paused")])
        #expect(check.findings.map(\.level) == [.ok, .ok, .ok])
        let state = try #require(check.findings.last?.state)
        #expect(state.contains(" until ") && state.contains("notifyctl resume"))
        #expect(state.contains("(\(cause))") == (cause == "schedule" || cause == "later"))
    }

    @Test func theDesktopIsToldToBeSwitchedOffThere() throws {
        let check = quietRouter("desktop")
        #expect(check.findings.map(\.level) == [.ok, .ok, .ok])
        #expect(check.findings.last?.state.contains("switch it off there") == true)
        #expect(check.findings.last?.state.contains("notifyctl resume") == false)
    }

    // MARK: The notification server

    @Test func aServerIsJudgedByItsAnswer() {
        let known = ServerCheck.Answer.information(name: "dunst", version: "1.9")
        #expect(ServerCheck().finding.level == .warning)
        #expect(ServerCheck(isThere: true).finding.level == .problem)
        #expect(ServerCheck(isThere: true, answer: .error("boom")).finding.state.contains("boom"))
        let resting = ServerCheck(isThere: true, answer: known, statistics: ["notification-server-rests": 1])
        #expect(resting.finding.level == .warning)
        let plain = ServerCheck(isThere: true, answer: known, capabilities: ["body"]).finding
        #expect(plain == .ok("notification server", "dunst 1.9, which cannot show buttons"))
    }

    // MARK: The journal

    @Test func aJournalOutsideOfWhatTheSandboxAllowsIsExplained() {
        let check = JournalCheck(
            problem: .warning("journal", "nothing is accepted, because it is read-only", "Make it writable."),
            folder: "/data/notifyd", writableFolders: ["/home/mina/.local/state/notifyd"])
        #expect(check.findings.first?.level == .problem)
        #expect(check.findings.first?.advice?.contains("ReadWritePaths=-/data/notifyd") == true)
        var open = check
        open.writableFolders = nil
        #expect(open.findings.first?.advice == "Make it writable.")
    }

    @Test(arguments: [
        (JournalCheck(folder: "/s", mode: 0o600, room: 1 << 30), [Finding.Level.ok]),
        (JournalCheck(folder: "/s"), [.ok]),
        (JournalCheck(folder: "/s", mode: 0o644, room: 1 << 30), [.warning]),
        (JournalCheck(folder: "/s", mode: 0o600, room: 1 << 20), [.warning]),
        (JournalCheck(folder: "/s", mode: 0o600, damaged: ["index.db.damaged-1"]), [.ok, .warning]),
        (
            JournalCheck(
                folder: "/s", mode: 0o600, earlier: ["events.db.earlier", "events.db.earlier-wal"],
                statistics: ["damaged-rows": 2]),
            [.ok, .warning, .warning]
        ),
    ])
    func aJournalIsJudgedByItsFile(_ check: JournalCheck, _ levels: [Finding.Level]) {
        #expect(check.findings.map(\.level) == levels)
    }

    // MARK: The rest

    @Test func aConfigurationIsWhatNotifydSaysOfIt() {
        let good = "The configuration is good (/home/mina/.config/notifyd/config.toml). Routes:"
        #expect(ConfigurationCheck(report: (0, [good])).finding.state == "good: /home/mina/.config/notifyd/config.toml")
        #expect(ConfigurationCheck(report: (78, ["a:1:2: no"])).finding.state == "a:1:2: no")
        #expect(
            ConfigurationCheck(report: (78, ["a:1:2: no"]), isRunning: true).finding.state
                == "a:1:2: no; notifyd goes on with the configuration that it has")
        let left = ConfigurationCheck(report: (0, [good, "Left out:", "  /a.toml:1:2: no"])).finding
        #expect(left.level == .warning)
        #expect(left.state == "good, without a file of a package: /a.toml:1:2: no")
        let missing = ConfigurationCheck(report: (0, [good, "Missing programs:", "  foot, for the button"])).finding
        #expect(missing.level == .warning)
        #expect(missing.state == "good, but there is no program foot, for the button")
        #expect(ConfigurationCheck(report: nil).finding.level == .warning)
    }

    @Test func aConfigurationOfAnotherEnvironmentIsSaidToBeOne() {
        let check = ConfigurationCheck(report: (78, ["a:1:2: no"]), differences: ["XDG_CONFIG_HOME"])
        #expect(
            check.finding.state == "a:1:2: no (read as the running notifyd does, which has another XDG_CONFIG_HOME)")
        #expect(check.finding.level == .problem)
        let broken = ConfigurationCheck(obstacle: "/usr/bin/notifyd ended with exit code 0 and said nothing")
        #expect(broken.finding.level == .warning)
    }

    @Test func aVariableThatIsNotSetStandsForItsDefault() {
        let set = ["HOME": "/home/mina", "XDG_CONFIG_HOME": "/home/mina/.config/", "XDG_CONFIG_DIRS": "/etc/xdg"]
        for name in ["HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_DIRS"] {
            let unset = ConfigurationCheck.value(name, in: ["HOME": "/home/mina"])
            #expect(ConfigurationCheck.value(name, in: set) == unset)
        }
        #expect(
            ConfigurationCheck.value("XDG_CONFIG_HOME", in: set)
                != ConfigurationCheck.value("XDG_CONFIG_HOME", in: ["HOME": "/root"]))
    }

    // MARK: Windows

    private func focus(_ unit: FocusUnit?, _ info: FocusInfo? = nil) -> Finding? {
        FocusCheck(rules: .success(WindowRules()), isThere: info != nil, info: info, unit: unit).findings.first
    }

    @Test func whyWindowsAreNotFollowedIsSaid() {
        let start = "Start it: systemctl --user enable --now notifyd-focus"
        #expect(focus(nil)?.advice == start)
        #expect(focus(FocusUnit())?.advice == start)
        let waiting = focus(FocusUnit(isEnabled: true))
        #expect(waiting?.state.hasSuffix("it is enabled, but graphical-session.target is not active") == true)
        #expect(waiting?.advice?.contains("systemctl --user import-environment DISPLAY WAYLAND_DISPLAY") == true)
        #expect(focus(FocusUnit(isEnabled: true, hasFailed: true))?.state.hasSuffix("it has failed") == true)
        let ended = focus(FocusUnit(isEnabled: true, isSessionActive: true))
        #expect(ended?.advice == "Start it: systemctl --user start notifyd-focus")
    }

    @Test func whatNotifydFocusSaysOfItselfIsTold() {
        func findings(_ info: [String: Value]) -> [Finding] {
            let told = Finding.warning("focus", "no screen", "Open one.")
            return FocusCheck(
                rules: .success(WindowRules()), isThere: true, info: FocusInfo(info), told: [told]
            ).findings
        }
        let following: [String: Value] = ["following": true, "rules": .uint32(1)]
        #expect(findings(following).map(\.level) == [.ok, .warning])
        #expect(findings(following).last?.advice == "Open one.")
        #expect(findings(["following": true]).map(\.level) == [.warning])
        #expect(findings(["rules": .uint32(1)]).map(\.level) == [.warning])
    }

    @Test func howALockedScreenIsNoticedIsSaid() {
        func state(_ lockers: [Value], obstacle: String = "") -> String {
            let info: [String: Value] = [
                "source": "sway", "following": .boolean(true), "rules": .uint32(1), "obstacle": .string(obstacle),
                "lockers": .array(lockers, of: .string),
            ]
            return focus(nil, FocusInfo(info))?.state ?? ""
        }
        #expect(state([]).hasSuffix("noticed only if the locker tells logind (notifyd-focus(8))"))
        #expect(state(["swaylock", "waylock"]).hasSuffix("a locked screen is noticed by logind and swaylock, waylock"))
        #expect(
            state(["swaylock"], obstacle: "swaylock").hasSuffix("swaylock is in front of them, so they do not count"))
    }

    // MARK: The notification server

    @Test func aServerThatIsInstalledAndHasFailedIsNamed() throws {
        let name = "org.freedesktop.Notifications"
        func read(_ text: String) -> InstalledServer? { InstalledServer(text, for: name) }
        var dunst = try #require(
            read("[D-BUS Service]\nName=\(name)\nExec=/usr/bin/dunst\nSystemdService=dunst.service\n"))
        #expect(dunst.program == "dunst" && dunst.unit == "dunst.service")
        let mako = try #require(read("[D-BUS Service]\nName=\(name)\nExec=/usr/bin/mako\n"))
        #expect(mako.program == "mako" && mako.unit == nil)
        let other = try #require(read("Name=\(name)\nExec=/bin/false\nSystemdService=swaync.service\n"))
        #expect(other.program == "swaync")
        #expect(read("Name=org.xfce.Xfconf\nExec=/usr/bin/xfconfd\n") == nil)

        dunst.failure = "failed (exit-code, exit status 1)"
        // The bus may not have given up yet.
        for failures: UInt64 in 0...1 {
            let check = ServerCheck(
                statistics: ["server-start-failures": failures], isActivatable: true, installed: [dunst, mako])
            #expect(check.finding.level == .problem)
            #expect(
                check.finding.state.hasSuffix(
                    "banners wait; dunst.service failed (exit-code, exit status 1); installed: dunst, mako"))
            #expect(
                check.finding.advice
                    == "The log says why: journalctl --user -u dunst.service. If your desktop has "
                    + "another one, start that: mako."
            )
        }
        let failed: [String: UInt64] = ["server-start-failures": 1]
        let alone = ServerCheck(statistics: failed, installed: [dunst]).finding
        #expect(alone.advice?.hasSuffix("Then restart it: systemctl --user restart dunst.service") == true)
        #expect(ServerCheck(isActivatable: true, installed: [mako]).finding.level == .ok)
        #expect(ServerCheck(statistics: failed, installed: [mako]).finding.advice?.contains("install") == false)
        #expect(ServerCheck(statistics: failed).finding.advice?.contains("install dunst or mako") == true)
    }

    @Test func aServerThatHangsHasAName() {
        let unit = "0::/user.slice/user-1000.slice/user@1000.service/session.slice/dunst.service\n"
        let name = ServerCheck.identity("dunst\n", process: 42, cgroup: unit)
        #expect(name == "dunst (process 42, dunst.service)")
        let scope = "0::/user.slice/session-2.scope\n"
        #expect(ServerCheck.identity("mako\n", process: 42, cgroup: scope) == "mako (process 42)")
        #expect(ServerCheck.identity(nil, process: 42, cgroup: nil) == "it (process 42)")
        #expect(ServerCheck(isThere: true, identity: name).finding.state.hasPrefix(name + " hangs: no answer within"))
    }

    @Test func nobodyAtTheSessionIsNoFault() {
        #expect(SessionCheck(hasLogin: true, statistics: ["session-watched": 0], lingers: true).finding.level == .ok)
        #expect(SessionCheck().finding.level == .ok)
    }

    @Test func aSessionThatNobodyTellsOfIsNotCalledWatched() {
        for hasLogin in [false, true] {
            let check = SessionCheck(hasLogin: hasLogin, statistics: ["session-watched": 1, "session-known": 0])
            #expect(check.finding.state.contains("a lock is never noticed"))
            #expect(!check.finding.state.contains("watched"))
        }
    }
}

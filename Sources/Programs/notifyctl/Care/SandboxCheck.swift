import NotifyClient

/// The sandbox that is in force for the running notifyd. Some settings of a unit silently do nothing if there are no
/// user namespaces, so this checks the process itself.
struct SandboxCheck {
    var hasManager = false
    /// Whether notifyd.service uses namespaces; `nil` if the running process is not that of the unit.
    var wantsNamespaces: Bool?
    /// The facts of the running process, if they can be read.
    var process: ProcessFacts?

    /// The settings of the unit that a drop-in has made weaker.
    var loosened: [String] = []

    private static let check = "sandbox"

    /// `nil` if notifyd does not run.
    var finding: Finding? {
        guard let process else { return nil }
        let held = process.filtersCalls && process.gainsNoPrivileges
        let restart = "systemctl --user daemon-reload && systemctl --user restart notifyd"
        switch wantsNamespaces {
        case nil where !hasManager:
            return .ok(
                Self.check,
                held ? "made by the program that started notifyd" : "none: there is no service manager to make it")
        case nil:
            return .warning(
                Self.check,
                held ? "in one, but not that of notifyd.service" : "none: notifyd was not started by its unit",
                "Let the service manager run it: systemctl --user start notifyd")
        case _? where !held:
            return .problem(
                Self.check, "none: neither are system calls filtered nor new privileges refused",
                "A drop-in of notifyd.service may have removed it; see: systemctl --user cat notifyd")
        case true? where !process.hasOwnUsers:
            return .problem(Self.check, "its namespaces are not in force; the rest is", "Restart it: \(restart)")
        case _? where !loosened.isEmpty:
            return .warning(
                Self.check, "weaker than that of notifyd.service: \(loosened.joined(separator: ", "))",
                "A drop-in has changed it; see: systemctl --user cat notifyd")
        case true?: return .ok(Self.check, "complete: namespaces, system calls, no new privileges")
        case false?:
            return .ok(Self.check, "system calls and no new privileges; namespaces.conf is left out")
        }
    }
}

/// What notifyd.service sets for its sandbox, to be compared with what the service manager has in force: a drop-in may
/// have changed it.
enum SandboxSettings {
    /// A setting, and its value in the unit.
    typealias Setting = (name: String, value: String)

    /// Those of the unit itself.
    static let unit: [Setting] = [
        ("NoNewPrivileges", "yes"), ("RestrictSUIDSGID", "yes"), ("RestrictNamespaces", "yes"),
        ("MemoryDenyWriteExecute", "yes"), ("LockPersonality", "yes"), ("RestrictAddressFamilies", "AF_UNIX"),
        ("SystemCallArchitectures", "native"), ("SystemCallFilter", "@system-service"), ("RestrictRealtime", "yes"),
        ("UMask", "0077"), ("LimitCORE", "0"), ("KeyringMode", "private"),
    ]
    /// Those of namespaces.conf.
    static let namespaces: [Setting] = [
        ("PrivateUsers", "yes"), ("CapabilityBoundingSet", ""), ("ProtectSystem", "strict"),
        ("ProtectHome", "read-only"), ("PrivateTmp", "yes"), ("PrivateDevices", "yes"), ("DevicePolicy", "closed"),
        ("PrivateIPC", "yes"), ("PrivateNetwork", "yes"), ("ProtectProc", "invisible"), ("ProcSubset", "pid"),
        ("ProtectHostname", "yes"), ("ProtectClock", "yes"), ("ProtectControlGroups", "yes"),
        ("ProtectKernelLogs", "yes"), ("ProtectKernelModules", "yes"), ("ProtectKernelTunables", "yes"),
    ]

    /// The names of the settings that are weaker than those of the unit.
    ///
    /// - Parameter service: the properties of the service. One that this version of systemd does not have is passed
    ///   over.
    static func loosened(_ service: [String: Value]) -> [String] {
        let hasNamespaces = service["PrivateUsers"]?.boolean == true
        return (unit + (hasNamespaces ? namespaces : [])).filter { setting in
            service[setting.name].map { !holds(setting, $0) } ?? false
        }.map(\.name)
    }

    /// Whether a property is as strict as the setting; org.freedesktop.systemd1(5) says how each is given.
    private static func holds(_ setting: Setting, _ value: Value) -> Bool {
        switch setting.name {
        // The namespaces and the capabilities that are left.
        case "RestrictNamespaces", "CapabilityBoundingSet", "LimitCORE": value.integer(as: UInt64.self) == 0
        case "UMask": value.integer(as: UInt32.self).map { $0 & 0o077 == 0o077 } ?? false
        // A list, and whether it is of what is allowed.
        case "RestrictAddressFamilies": isAllowed(value) { Set($0).isSubset(of: ["AF_UNIX"]) }
        case "SystemCallFilter": isAllowed(value) { $0.contains("read") && Set($0).isDisjoint(with: forbiddenCalls) }
        case "SystemCallArchitectures": value.elements?.isEmpty == false
        case "ProtectHome": ["read-only", "yes", "tmpfs"].contains(value.string)
        case "DevicePolicy": ["closed", "strict"].contains(value.string)
        default: value.boolean ?? (value.string == setting.value)
        }
    }

    /// Some of `@privileged` and `@resources`.
    private static let forbiddenCalls: Set<String> = ["setuid", "chroot", "sched_setscheduler", "setpriority"]

    private static func isAllowed(_ value: Value, _ condition: ([String]) -> Bool) -> Bool {
        guard let parts = value.elements, parts.count == 2, parts[0].boolean == true, let names = parts[1].elements
        else { return false }
        return condition(names.compactMap(\.string))
    }
}

/// Whether the journal can be written, and is private.
struct JournalCheck {
    /// Why notifyd cannot write it, as `Diagnose` answers it.
    var problem: Finding?
    /// The folder notifyd uses, or would use.
    var folder = ""
    /// The permissions of `index.db`, or `nil` if it cannot be read.
    var mode: UInt32?
    var room: UInt64?
    var damaged: [String] = []
    /// The files of earlier builds that were set aside.
    var earlier: [String] = []
    /// The counters of notifyd; empty if it does not run.
    var statistics: [String: UInt64] = [:]
    /// The folders that the sandbox lets notifyd write to; `nil` if it may write anywhere.
    var writableFolders: [String]?

    static let check = "journal"
    private static let enoughRoom: UInt64 = 64 << 20

    var findings: [Finding] {
        var findings = [finding]
        if let log = JournalLog(statistics) { findings.append(log.finding()) }
        // Parts of the log and of the index that notifyd has left out since its start.
        if let count = statistics["damaged-rows"], count > 0 {
            let parts = count == 1 ? "a part of it is damaged and is" : "\(count) parts of it are damaged and are"
            findings.append(
                .warning(
                    Self.check, "\(parts) left out",
                    "What they said is lost. See whether the disk is failing (smartctl -H), or put a backup back."))
        }
        if !damaged.isEmpty {
            findings.append(
                .warning(
                    Self.check, "\(damaged.joined(separator: ", ")) in \(folder): set aside because it was damaged",
                    "A new index has what could be read. The old one is not used: delete it if you do not need it."))
        }
        if !earlier.isEmpty {
            findings.append(
                .warning(
                    Self.check,
                    "\(earlier.joined(separator: ", ")) in \(folder): of an earlier build, "
                        + "which this one does not read",
                    "Nothing of it is in the present journal: delete these files if you do not need them."))
        }
        return findings
    }

    private var finding: Finding {
        if let problem { return .problem(Self.check, problem.state, remedy ?? problem.advice ?? "") }
        if let room, room < Self.enoughRoom {
            return .warning(Self.check, "only \(room >> 20) MiB are left for \(folder)", "Free space on this disk.")
        }
        guard let mode else { return .ok(Self.check, "nothing in \(folder) yet") }
        guard mode & 0o077 == 0 else {
            return .warning(
                Self.check, "others may read \(folder)/index.db", "Remove these permissions: chmod -R go= \(folder)")
        }
        let left = room.map { ", \($0 >> 20) MiB left" } ?? ""
        return .ok(Self.check, "\(folder)/index.db, mode \(String(mode, radix: 8))\(left)")
    }

    private var remedy: String? {
        guard let writableFolders, !writableFolders.contains(folder) else { return nil }
        return "The sandbox lets notifyd write to \(writableFolders.joined(separator: ", ")) only. "
            + "systemctl --user edit notifyd, and there: [Service], ReadWritePaths=-\(folder)"
    }
}

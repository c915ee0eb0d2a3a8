import NotifyClient

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

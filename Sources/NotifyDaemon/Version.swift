import NotifyVersion

/// The version that the daemon announces.
public let notifydVersion = projectVersion

/// The one place where the version stands.
public let notifydVersion = "0.1.0"

import Mapping
import NotifyText

/// The host of an address, for people: without the user, the password and the path, which may be secrets.
public enum AddressHost {
    private static let maximumBytes = 100

    /// - Returns: the host and the port; nothing if there is none.
    public static func host(of address: String) -> String {
        String(Authority.text(ofAddress: address) ?? "").visible().beginning(ofBytes: maximumBytes)
    }
}

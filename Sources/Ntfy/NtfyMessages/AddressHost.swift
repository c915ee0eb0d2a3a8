import Mapping
import NotifyText

/// The host of an address, for people: without the user, the password and the path, which may be secrets.
public enum AddressHost {
    private static let maximumBytes = 100

    /// - Returns: the host and the port; nothing if there is none.
    public static func host(of address: String) -> String {
        guard let begin = address.firstRange(of: "://")?.upperBound else { return "" }
        let authority = address[begin...].prefix { !"/?#\\".contains($0) }
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        return String(host).visible().beginning(ofBytes: maximumBytes)
    }
}

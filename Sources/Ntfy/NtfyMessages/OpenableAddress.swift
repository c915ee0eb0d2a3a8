import NotifyText

/// Whether a button may open an address. Others, such as `file:`, would let a stranger reach into this machine.
public enum OpenableAddress {
    static let schemes = ["https", "http", "mailto", "tel", "sms", "geo", "xmpp", "matrix", "ntfy"]
    private static let maximumBytes = 4096

    public static func isOpenable(_ address: String) -> Bool { openable(address) != nil }

    /// An address as it is opened: blanks, which people write in `geo:0,0?q=Main Street 5`, are encoded.
    ///
    /// - Returns: `nil` if it is not opened.
    public static func openable(_ address: String) -> String? {
        let address = address.split(separator: " ", omittingEmptySubsequences: false).joined(separator: "%20")
        guard let colon = address.firstIndex(of: ":"), address.utf8.count <= maximumBytes,
            !address.unicodeScalars.contains(where: \.isActive)
        else { return nil }
        let scheme = address[..<colon].lowercased()
        guard ["https", "http"].contains(scheme) else { return schemes.contains(scheme) ? address : nil }
        return Authority(ofAddress: address, .international) == nil ? nil : address
    }
}

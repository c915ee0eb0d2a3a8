import NotifyText

/// Whether a button may open an address. Others, such as `file:`, would let a stranger reach into this machine.
public enum OpenableAddress {
    static let schemes = ["https", "http", "mailto", "tel", "sms", "geo", "xmpp", "matrix", "ntfy"]
    private static let maximumBytes = 4096

    public static func isOpenable(_ address: String) -> Bool {
        guard let colon = address.firstIndex(of: ":"), address.utf8.count <= maximumBytes,
            !address.unicodeScalars.contains(where: { $0.isActive || $0 == " " })
        else { return false }
        let scheme = address[..<colon].lowercased()
        guard ["https", "http"].contains(scheme) else { return schemes.contains(scheme) }
        return Authority(ofAddress: address, .international) != nil
    }
}

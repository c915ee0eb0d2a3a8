import Glibc

/// The name of this machine.
package enum HostName {
    /// Without the domain; `nil` if there is none that fits.
    package static var own: String? {
        var name = utsname()
        guard uname(&name) == 0 else { return nil }
        let bytes = withUnsafeBytes(of: name.nodename) { Array($0.prefix { $0 != 0 && $0 != UInt8(ascii: ".") }) }
        guard let text = String(validating: bytes, as: UTF8.self), !text.isEmpty else { return nil }
        return text.utf8.count <= LinkSettings.longestName ? text : nil
    }
}

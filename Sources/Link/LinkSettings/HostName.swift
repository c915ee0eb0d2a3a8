import Glibc

/// The name of this machine.
package enum HostName {
    /// Without the domain, as far as it fits; `device` if the machine has none.
    package static var own: String {
        var name = utsname()
        guard uname(&name) == 0 else { return "device" }
        let bytes = withUnsafeBytes(of: name.nodename) { Array($0.prefix { $0 != 0 && $0 != UInt8(ascii: ".") }) }
        guard let text = String(validating: bytes, as: UTF8.self), !text.isEmpty else { return "device" }
        return text.utf8.count <= LinkSettings.longestName ? text : "device"
    }
}

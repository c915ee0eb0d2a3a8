internal import CSystemd
import NotifyText

/// The machine, as machine-id(5) identifies it.
public enum Machine {
    /// Mixes a number with the machine's id, so that a copy on another machine has another result, and the id stays
    /// secret; sd_id128_get_machine_app_specific(3).
    ///
    /// - Parameter number: 32 hexadecimal digits.
    /// - Returns: 32 lower-case hexadecimal digits; the number itself on a machine without an id, as many containers
    ///   are.
    public static func mix(_ number: String) -> String {
        var id = sd_id128_t()
        var mixed = sd_id128_t()
        guard sd_id128_from_string(number, &id) >= 0, sd_id128_get_machine_app_specific(id, &mixed) >= 0 else {
            return number
        }
        return withUnsafeBytes(of: mixed) { $0.hexadecimal }
    }
}

/// Whether an address of a machine is one of the public network, so that whoever names it does not reach into this
/// machine or its neighbourhood.
public enum PublicAddress {
    /// - Parameter bytes: 4 or 16, in network order.
    public static func isPublic(_ bytes: [UInt8]) -> Bool {
        switch bytes.count {
        case 4: isPublicV4(bytes)
        case 16: isPublicV6(bytes)
        default: false
        }
    }

    /// The blocks of RFC 6890 and multicast.
    private static func isPublicV4(_ bytes: [UInt8]) -> Bool {
        switch (bytes[0], bytes[1]) {
        case (0, _), (10, _), (127, _), (224..., _): false
        case (100, 64...127), (169, 254), (172, 16...31), (192, 168), (198, 18...19): false
        case (192, 0): bytes[2] != 0 && bytes[2] != 2
        case (198, 51): bytes[2] != 100
        case (203, 0): bytes[2] != 113
        default: true
        }
    }

    /// Only what is given out as global unicast, and what holds an address of version 4 only if that one is public.
    private static func isPublicV6(_ bytes: [UInt8]) -> Bool {
        // 64:ff9b::/96 and ::ffff:0:0/96 hold one.
        if bytes.starts(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0])
            || bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
        {
            return isPublicV4(Array(bytes[12...]))
        }
        guard bytes[0] & 0xE0 == 0x20 else { return false }
        // 6to4 and Teredo tunnel, 2001:db8::/32 is for documents.
        if bytes[0] == 0x20, bytes[1] == 0x02 { return isPublicV4(Array(bytes[2..<6])) }
        return
            !(bytes[0] == 0x20 && bytes[1] == 1
            && (bytes[2] == 0 && bytes[3] == 0 || bytes[2] == 0x0D && bytes[3] == 0xB8))
    }
}

/// What this device said last on its stream. The broker sends it to its author too, and then there is nothing to open.
///
/// Only what is the same to the last byte is an echo. Everything else under the own name is looked at: somebody has
/// said it.
struct Echoes {
    private static let limit = 64

    private var hashes: [Int] = []
    /// Where the next one goes when there are as many as may be.
    private var oldest = 0

    mutating func said(_ payload: [UInt8]) {
        if hashes.count < Self.limit {
            hashes.append(payload.hashValue)
        } else {
            hashes[oldest] = payload.hashValue
            oldest = (oldest + 1) % Self.limit
        }
    }

    func contains(_ payload: [UInt8]) -> Bool { hashes.contains(payload.hashValue) }
}

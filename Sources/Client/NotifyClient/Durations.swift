extension Duration {
    /// From whole microseconds, as in D-Bus messages.
    init(microseconds: UInt64) {
        self = .microseconds(Int64(clamping: microseconds))
    }

    /// Nanoseconds, clamped to the range of `UInt64`.
    var clampedNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        if seconds < 0 || attoseconds < 0 { return 0 }
        let whole = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let sum = whole.partialValue.addingReportingOverflow(UInt64(attoseconds / 1_000_000_000))
        return whole.overflow || sum.overflow ? .max : sum.partialValue
    }

    /// Whole units, rounded up; `nil` when negative or too large for `u`.
    func whole(_ unit: Duration) -> UInt32? {
        let nanoseconds = clampedNanoseconds
        let size = unit.clampedNanoseconds
        guard self >= .zero, nanoseconds < .max - size else { return nil }
        return UInt32(exactly: (nanoseconds + size - 1) / size)
    }

    /// Whole units as an argument `u`.
    ///
    /// - Throws: `invalidArgument` with this sentence.
    func argument(in unit: Duration, _ complaint: String) throws(NotifyError) -> Value {
        guard let number = whole(unit) else { throw NotifyError(.invalidArgument, complaint) }
        return .uint32(number)
    }
}

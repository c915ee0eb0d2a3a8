import Routing

/// An enum with a byte for each case. Bytes are never changed or given to another case.
protocol ByteCoded: CaseIterable {
    var byteCode: UInt8 { get }
}

extension RecordReader {
    mutating func coded<Case: ByteCoded>() throws(Malformed) -> Case {
        let code = try byte()
        guard let found = Case.allCases.first(where: { $0.byteCode == code }) else { throw Malformed() }
        return found
    }
}

extension Outcome: ByteCoded {
    var byteCode: UInt8 {
        switch self {
        case .shown: 1
        case .muted: 2
        case .expired: 3
        case .claimed: 4
        case .retracted: 5
        case .dismissed: 6
        case .silent: 7
        case .withdrawn: 8
        case .replaced: 9
        }
    }
}

extension Verdict: ByteCoded {
    var byteCode: UInt8 {
        switch self {
        case .suppressed: 1
        case .retracted: 2
        case .recorded: 3
        case .awaited: 4
        }
    }
}

extension ClaimForm: ByteCoded {
    var byteCode: UInt8 {
        switch self {
        case .claim: 1
        case .provisional: 2
        case .topic: 3
        case .screen: 4
        case .named: 5
        case .read: 6
        case .completed: 7
        case .released: 8
        case .ranOut: 9
        case .left: 10
        case .snooze: 11
        }
    }
}

extension NamedClaim.Kind: ByteCoded {
    var byteCode: UInt8 {
        switch self {
        case .claimed: 1
        case .dismissed: 2
        case .withdrawn: 3
        case .read: 4
        }
    }
}

extension Quiet.Cause: ByteCoded {
    var byteCode: UInt8 {
        switch self {
        case .paused: 1
        case .muted: 2
        case .schedule: 3
        case .desktop: 4
        }
    }
}

extension ValueRemoval.Cause: ByteCoded {
    var byteCode: UInt8 {
        switch self {
        case .publisher: 1
        case .expired: 2
        case .replaced: 3
        }
    }
}

extension ChangeRow.Kind: ByteCoded {
    var byteCode: UInt8 {
        switch self {
        case .accepted: 1
        case .read: 2
        case .removed: 3
        case .start: 4
        case .replaced: 5
        }
    }
}

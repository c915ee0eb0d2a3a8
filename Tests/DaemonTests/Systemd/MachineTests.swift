import Glibc
import Systemd
import Testing

/// Names that hold for one machine.
struct MachineTests {
    private let number = "0123456789abcdef0123456789abcdef"

    @Test func aNumberMixedWithTheMachineIsAnotherNumber() {
        let mixed = Machine.mix(number)
        #expect(mixed.count == 32 && mixed.allSatisfy { "0123456789abcdef".contains($0) })
        #expect(Machine.mix(number) == mixed)
        #expect(Machine.mix("1" + number.dropFirst()) != mixed)
        // Without an id of the machine, the number stays.
        let hasID = access("/etc/machine-id", R_OK) == 0
        #expect((mixed != number) == hasID)
    }

    @Test func whatIsNoNumberStays() {
        #expect(Machine.mix("rubbish") == "rubbish")
        #expect(Machine.mix("") == "")
    }
}

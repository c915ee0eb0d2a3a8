package import ArgumentParser
import Glibc
import NotifyText

extension ParsableCommand {
    /// Ends the program with 65 if an argument is not UTF-8. Swift would replace the bytes with U+FFFD, and the program
    /// would send, store or open something else.
    package static func requireTextArguments() {
        for (index, argument) in CommandLine.unsafeArgv.dropName().enumerated() {
            guard let fault = Encoding.firstFault(in: argument) else { continue }
            let byte = String(argument[argument.startIndex + fault], radix: 16)
            StandardStreams.complain(
                "argument \(index + 1) is not UTF-8 text: byte \(fault + 1) is 0x\(byte), in "
                    + "“\(String(decoding: argument, as: UTF8.self).visible())”.")
            StandardStreams.end(65)
        }
    }
}

extension UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> {
    /// The bytes of each argument after the program's name.
    fileprivate func dropName() -> [UnsafeRawBufferPointer] {
        (1..<max(1, Int(CommandLine.argc))).compactMap { self[$0] }.map {
            UnsafeRawBufferPointer(start: $0, count: strlen($0))
        }
    }
}

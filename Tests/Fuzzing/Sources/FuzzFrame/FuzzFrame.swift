import NotifyFuzzing

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    fuzzFrame([UInt8](UnsafeBufferPointer(start: start, count: count)))
    return 0
}

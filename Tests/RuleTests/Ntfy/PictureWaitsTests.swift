import Mapping
import Testing

struct PictureWaitsTests {
    @Test func picturesThatNeverComeTakeFewPlaces() {
        var waits = PictureWaits<String>()
        for ticket in 0..<UInt64(PictureWaits<String>.maximum) {
            #expect(waits.hasPlace)
            waits.begin(ticket, "\(ticket)")
        }
        #expect(!waits.hasPlace)
        // A message that goes without its picture leaves its place to nobody until the fetch is over.
        #expect(waits.end(3) == "3")
        #expect(waits.end(3) == nil)
        #expect(!waits.hasPlace)
        waits.endFetch()
        #expect(waits.hasPlace)
        #expect(waits.endAll().count == PictureWaits<String>.maximum - 1)
        #expect(waits.end(4) == nil)
    }
}

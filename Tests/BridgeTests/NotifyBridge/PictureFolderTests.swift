import Foundation
import Testing

@testable import NotifyBridge

/// The pictures of banners on disk.
struct PictureFolderTests {
    @Test func theOldestOfItsOwnPicturesGoAndNoFileOfOthers() throws {
        let runtime = FileManager.default.temporaryDirectory.appending(path: "pictures-\(UUID())")
        defer { try? FileManager.default.removeItem(at: runtime) }
        let folder = runtime.appending(path: "bridge")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for name in ["holiday.jpg", "12 months.png", "17.png"] {
            try Data([1]).write(to: folder.appending(path: name))
        }
        let pictures = try PictureFolder("bridge", in: runtime.path)
        for _ in 1...40 { _ = try pictures.keep([1], kind: "png") }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.count == 34)
        #expect(names.contains("holiday.jpg") && names.contains("12 months.png"))
        #expect(!names.contains("17.png"))
    }

    @Test func aFolderThatIsALinkIsNotTaken() throws {
        let runtime = FileManager.default.temporaryDirectory.appending(path: "pictures-\(UUID())")
        defer { try? FileManager.default.removeItem(at: runtime) }
        try FileManager.default.createDirectory(at: runtime, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            at: runtime.appending(path: "bridge"), withDestinationURL: FileManager.default.temporaryDirectory)
        #expect(throws: PictureFolder.Failure.self) { try PictureFolder("bridge", in: runtime.path) }
    }
}

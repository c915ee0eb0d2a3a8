"""png.py PICTURE PICTURE.png: a picture of grim (PPM) or Xvfb (XWD) in a form that every viewer reads."""

import struct
import sys
import zlib


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def read_ppm(data: bytes) -> tuple[int, int, list[bytes]]:
    magic, size, depth, pixels = data.split(b"\n", 3)
    assert magic == b"P6" and depth == b"255", "not a picture of 8 bits a colour"
    width, height = (int(number) for number in size.split())
    return width, height, [pixels[3 * width * line:3 * width * (line + 1)] for line in range(height)]


def read_xwd(data: bytes) -> tuple[int, int, list[bytes]]:
    """XWDFile.h: 25 numbers of 32 bits, the name of the window, the colours, and the pixels: blue, green, red, nothing."""
    header = struct.unpack(">25I", data[:100])
    width, height, stride = header[4], header[5], header[12]
    assert header[11] == 32 and header[7] == 0, "not a picture of 32 bits a pixel, the lowest byte first"
    start = header[0] + 12 * header[19]
    lines = []
    for line in range(height):
        pixels = data[start + stride * line:start + stride * line + 4 * width]
        row = bytearray(3 * width)
        row[0::3], row[1::3], row[2::3] = pixels[2::4], pixels[1::4], pixels[0::4]
        lines.append(bytes(row))
    return width, height, lines


with open(sys.argv[1], "rb") as file:
    content = file.read()
width, height, lines = read_ppm(content) if content.startswith(b"P6") else read_xwd(content)
with open(sys.argv[2], "wb") as file:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + line for line in lines))
    file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))

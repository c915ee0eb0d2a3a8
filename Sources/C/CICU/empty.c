// ICU's data without anything in it, as in ICU's own stubdata.cpp: the header of a package of data, and an empty table of contents.
//
// A static program takes this instead of the 32 MiB in lib_FoundationICU.a, because the linker takes an archive's member only for a
// name that nothing else has. GRDB imports Foundation, which has ICU for calendars, languages and regular expressions; nothing
// that notifyd runs asks it for those. What asked would be told that data is missing (U_FILE_ACCESS_ERROR).
//
// In a program that shares Foundation's libraries the name is not seen: ICU has its data there.
// https://unicode-org.github.io/icu/userguide/icu_data/
#include <stdint.h>

struct package {
    uint16_t header_size;
    uint8_t magic[2];
    // UDataInfo of ICU's udata.h
    uint16_t info_size;
    uint16_t reserved;
    uint8_t is_big_endian;
    uint8_t charset_family;
    uint8_t size_of_uchar;
    uint8_t reserved_byte;
    uint8_t data_format[4];
    uint8_t format_version[4];
    uint8_t data_version[4];
    uint8_t padding[8];
    uint32_t entries;
};

#define EMPTY                                                                                                          \
    {                                                                                                                  \
        .header_size = 32, .magic = {0xda, 0x27}, .info_size = 20,                                                     \
        .is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, .size_of_uchar = 2,                                   \
        .data_format = {'C', 'm', 'n', 'D'}, .format_version = {1},                                                    \
    }

// The name has the version of ICU that the compiler's Foundation has.
#define HIDDEN __attribute__((visibility("hidden"), used, aligned(16)))
HIDDEN const struct package icudt74_dat = EMPTY;
HIDDEN const struct package icudt76_dat = EMPTY;
HIDDEN const struct package icudt78_dat = EMPTY;

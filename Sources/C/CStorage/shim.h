#pragma once
#include <sqlite3.h>
#include <zlib.h>

/* sqlite3_config is variadic, and Swift cannot call it. */
static inline int sqlite3_config_memory_statistics(int are_kept) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, are_kept);
}

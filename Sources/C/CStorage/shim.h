#pragma once
#include <sqlite3.h>
#include <zlib.h>

/* sqlite3_config is variadic, and Swift cannot call it. */
static inline int sqlite3_config_memory_statistics(int are_kept) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, are_kept);
}

/* Has a connection leave its write-ahead log as it is when it is closed. */
static inline int sqlite3_keep_log(sqlite3 *db) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

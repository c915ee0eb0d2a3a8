#pragma once
#include <linux/stat.h>

/* glibc declares it for _GNU_SOURCE alone, without which Swift's module Glibc is made. */
int statx(int directory, const char *restrict path, int flags, unsigned mask, struct statx *restrict status);

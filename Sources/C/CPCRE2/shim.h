#pragma once
/* Text is UTF-8. The functions have names that end in _8. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

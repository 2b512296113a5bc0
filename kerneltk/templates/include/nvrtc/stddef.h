// <stddef.h> for NVRTC, which declares size_t and ptrdiff_t by itself.
#pragma once
#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#define offsetof(type, member) ((size_t) &((type*)0)->member)
#endif
typedef struct {
    alignas(long double) long double _kt_a;
    alignas(long long) long long _kt_b;
} max_align_t;

// <time.h> for NVRTC, which declares clock and clock_t by itself.
#pragma once
typedef long long time_t;
#ifndef CLOCKS_PER_SEC
#define CLOCKS_PER_SEC ((clock_t)1000000)
#endif
struct tm;
struct timespec {
    long tv_sec;
    long tv_nsec;
};
struct timeval {
    long tv_sec;
    long tv_usec;
};

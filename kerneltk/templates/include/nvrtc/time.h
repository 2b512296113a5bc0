// <time.h> for NVRTC, which declares clock and clock_t by itself.
#pragma once
typedef long long time_t;

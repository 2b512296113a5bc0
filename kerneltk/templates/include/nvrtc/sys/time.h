// <sys/time.h> for NVRTC: types, as large as in GNU's library. Only code for the host, which is left out, can do
// anything with one.
#pragma once
#include <time.h>
struct timezone;

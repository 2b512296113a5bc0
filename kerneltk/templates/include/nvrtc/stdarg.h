// <stdarg.h> for NVRTC, which declares it by itself.
#pragma once

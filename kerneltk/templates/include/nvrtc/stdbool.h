// <stdbool.h> for NVRTC: C++ has it all.
#pragma once

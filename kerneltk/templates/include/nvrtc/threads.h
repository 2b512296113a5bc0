// <threads.h> for NVRTC: only code for the host, which is left out, needs what it declares.
#pragma once

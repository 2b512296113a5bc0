// <string.h> for NVRTC, which declares memcpy and memset by itself.
#pragma once
#include "stddef.h"

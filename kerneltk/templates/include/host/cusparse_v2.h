// <cusparse_v2.h> for CPU cores: the types that declarations beside kernels use. Only code for the host calls
// the library.
#pragma once
#include <cusparse.h>

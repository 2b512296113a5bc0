// <cusolverRf.h> for NVRTC: the types that declarations beside kernels use. Only code for the host calls
// the library.
#pragma once
#include <cusolverDn.h>

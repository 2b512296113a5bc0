// <c10/util/complex.h>, by thrust::complex, which has the same layout. <thrust/complex.h> comes
// before it.
#pragma once

namespace c10 {
using thrust::complex;
}
namespace std {
using thrust::abs;
using thrust::arg;
using thrust::conj;
using thrust::norm;
}  // namespace std

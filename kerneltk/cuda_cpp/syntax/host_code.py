"""Tells code that only the host runs, in a ``.cu`` file, from what kernels may need.

Such a file launches its own kernels, reads arguments and prints results. A compiler that makes
device code alone takes none of that, and nothing of it runs here: its place is left blank.
"""

from __future__ import annotations

import re

__all__ = ["is_host_header", "is_host_text", "is_test_macro"]

# What the package's own headers for NVRTC have of the namespace std, and what any compiler has.
_DEVICE_STD = (
    r"numeric_limits|size_t|ptrdiff_t|nullptr_t|u?int(?:_least|_fast)?\d+_t|u?int(?:ptr|max)_t"
    r"|max_align_t|byte|array|pair|make_pair|initializer_list"
    r"|min|max|clamp|swap|exchange|move|forward|declval|integral_constant|(?:true|false)_type"
    r"|bool_constant|enable_if\w*|conditional\w*|void_t|decay\w*|common_type\w*|is_\w+|add_\w+"
    r"|remove_\w+|make_(?:un)?signed\w*|underlying_type\w*|type_identity\w*|rank\w*|alignment_of\w*"
    r"|conjunction\w*|disjunction\w*|negation\w*|invoke_result\w*"
    r"|(?:make_)?(?:index|integer)_sequence\w*"
    r"|printf|memcpy|memset|malloc|free|clock\w*|time_t|isnan|isinf|isfinite|signbit"
    r"|(?:f|l|ll)?abs|f(?:abs|dim|loor|ma|max|min|mod|rexp)f?|a?(?:cos|sin|tan)h?f?|atan2f?|ceilf?"
    r"|exp(?:2|m1)?f?|log(?:2|10|1p|b)?f?|powf?|sqrtf?|cbrtf?|hypotf?|erfc?f?|[lt]gammaf?|truncf?"
    r"|l?l?r(?:ound|int)f?|nearbyintf?|nextafterf?|remainderf?|remquof?|copysignf?|ilogbf?|ldexpf?"
    r"|modff?|scalbl?nf?|complex"
)
_HOST_TEXT = re.compile(
    r"<<<"
    rf"|\bstd\s*::\s*(?!(?:{_DEVICE_STD})\b)\w"
    r"|\bcuda[A-Z]\w*\s*(?:<[^<>;{}()]*>)?\s*\("
    r"|\bcu(?:Init|Ctx|Device|Module|Launch|Mem|Stream|Event|Func|Link|Occupancy|Tensor)\w*\s*\("
    r"|\b(?:cublas|cufft|cusparse|cusolver|cudnn|nccl|nvtx|nvml|hip)[A-Z]\w*"
    r"|\bcurand(?:Create|Destroy|Generate|Set|Generator)\w*"
    r"|\bMPI_\w+"
    r"|\b(?:at|torch|c10|py|pybind11|boost|thrust|cv|nlohmann|testing|benchmark)\s*::"
    r"(?!\s*complex\b)"
    r"|\b(?:fprintf|fopen|fclose|fread|fwrite|fscanf|sscanf|scanf|fgets|fputs|puts|exit|abort"
    r"|getenv|srand|rand|gettimeofday|clock_gettime|atoi|atof|calloc|realloc|perror|fflush"
    r"|sprintf|snprintf|system|usleep|sleep|strcmp|strncmp|strlen|strdup|strtol)\s*\("
    r"|\bFILE\s*\*|\b(?:cout|cerr|cin)\b"
)
_HOST_HEADER = re.compile(
    r"(?:torch|ATen|c10|c10d|pybind11|boost|opencv2?|gtest|gmock|benchmark|nvtx3|nlohmann|fmt|Eigen"
    r"|google|absl|mpi|openssl|GL|GLFW|glm|SDL2?|X11)/.*"
    r"|(?:cublas|cusparse|cusolver|cufft|cudnn|nccl|nvml|nvToolsExt|nvrtc|nvjpeg|npp)\w*\.h"
    r"|curand\.h|cuda_profiler_api\.h|cudaProfiler\.h|cuda_gl_interop\.h|cuda_egl_interop\.h"
    r"|helper_\w+\.h|exception\.h|cutil\w*\.h|shrUtils\.h|sdkHelper\.h|mpi\.h|Python\.h|windows\.h"
    r"|numa\.h|dirent\.h|dlfcn\.h|sys/(?!time|types|stat|resource)\w+\.h|netinet/.*|arpa/.*"
    r"|immintrin\.h|x86intrin\.h|emmintrin\.h|xmmintrin\.h|tbb/.*|hip/.*|zlib\.h|png\.h|jpeglib\.h"
)
_TEST_MACRO = re.compile(
    r"PYBIND11_MODULE|TORCH_LIBRARY\w*|TEST(?:_[FP])?|TYPED_TEST(?:_P)?|BENCHMARK\w*|NB_MODULE"
    r"|BOOST_PYTHON_MODULE|TEST_CASE|SECTION"
)


def is_host_text(text: str) -> bool:
    """Return whether a piece of C++ without comments names what there is on the host only.

    Examples
    --------
    >>> is_host_text("std::vector<int> v;"), is_host_text("return std::sqrt(x);")
    (True, False)
    """
    return _HOST_TEXT.search(text) is not None


def is_host_header(name: str) -> bool:
    """Return whether a header declares what there is on the host only, and is of no use here."""
    return _HOST_HEADER.fullmatch(name) is not None


def is_test_macro(name: str) -> bool:
    """Return whether a block behind this macro's name is a test or a module of a host library."""
    return _TEST_MACRO.fullmatch(name) is not None

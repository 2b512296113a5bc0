"""Headers of libraries that only the host has a use for, by their names."""

from __future__ import annotations

import re

_HOST_LIBRARY = re.compile(
    r"(?:torch|ATen|c10|c10d|THC|TH|caffe2|faiss|pybind11|boost|opencv2?|gtest|gmock|benchmark|nvtx3|nlohmann|fmt"
    r"|Eigen|unsupported|google|gflags|glog|absl|mpi|openssl|openacc|GL|GLES\d?|EGL|GLFW|glad|vulkan|glm|SDL2?"
    r"|X11|tbb|oneapi|hip|rocm|hdf5|cereal|spdlog|mkl|cblas|lapacke|hwloc|omp|tensorflow|mxnet|paddle"
    r"|folly|rapidjson|yaml-cpp|range|netinet|arpa|net|linux|asm|readline|curses|jni|mex"
    r"|catch2|doctest|nvbench|CLI|CLI11|cxxopts|argparse|sycl)/.*"
)
_HOST_HEADER = re.compile(
    r"(?:nvml|nvToolsExt|nvrtc|nvjpeg|npp|nvJitLink|nvshmemx?host|cusolverMg|cuda(?:EGL|GL|VDPAU|ProfilerT)|nvsci"
    r"|nvmedia|nvbuf|NvInfer|NvOnnx|Nv[A-Z])\w*\.h(?:pp)?"
    r"|cuda_profiler_api\.h|cudaProfiler\.h|cuda_(?:gl|egl|vdpau|d3d\w*)_interop\.h"
    r"|helper_\w+\.h|exception\.h|cutil\w*\.h|shrUtils\.h|sdkHelper\.h|mpi\w*\.h|Python\.h|windows\.h"
    r"|(?:D3D|d3d|dxgi|DirectX)\w*\.h|wrl\.h|io\.h|direct\.h|conio\.h|process\.h|winsock\w*\.h|tchar\.h"
    r"|zlib\.h|zmq\w*\.hp*|png\.h|jpeglib\.h|tiff\w*\.h|hdf5\w*\.h|cblas\w*\.h|lapacke\w*\.h|mkl\w*\.h|mex\.h|.*\.pb\.h"
    r"|gsl_\w+\.h|fftw3\w*\.h|likwid\w*\.h|papi\w*\.h|openacc\.h|nccl_\w+\.h|cudnn_\w+\.h|numa\w*\.h|ncurses\.h"
    r"|cufile\w*\.h|cupti\w*\.h|cutensor\w*\.h|cusparseLt\w*\.h|cudss\w*\.h|hip_\w+\.h|(?:.*/)?json\.hpp|stb_\w+\.h"
    r"|conio\.h|Windows\.h|vtk\w*\.h|freeimage\.h|FreeImage\.h|GLFW\w*\.h|glut\.h|glew\.h"
    r"|catch(?:_\w+)?\.hpp|doctest\.h|cxxopts\.hpp|CLI11\.hpp|argparse\.hpp"
)

# Of these, what device code uses as well.
_DEVICE_TOO = re.compile(r"(?:glm|Eigen|unsupported)/.*")


def serves_devices(header: str) -> bool:
    """Return whether a header's name is one of a library for the host that device code can use as
    well, if it is there.

    Examples
    --------
    >>> serves_devices("glm/glm.hpp"), serves_devices("torch/extension.h")
    (True, False)
    """
    return _DEVICE_TOO.fullmatch(header) is not None


def is_host_library(header: str, *, by_folder: bool = False) -> bool:
    """Return whether a header's name is one of a library that only the host has a use for; with
    `by_folder`, whether the folder in its name says so.

    Examples
    --------
    >>> is_host_library("torch/extension.h"), is_host_library("cooperative_groups.h")
    (True, False)
    """
    found = _HOST_LIBRARY.fullmatch(header)
    return found is not None or (not by_folder and _HOST_HEADER.fullmatch(header) is not None)

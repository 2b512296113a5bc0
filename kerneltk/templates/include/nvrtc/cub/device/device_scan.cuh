// <cub/device/device_scan.cuh> for NVRTC: functions that launch kernels of their own are the host's.
#pragma once
#include <cub/util_type.cuh>
namespace cub {}

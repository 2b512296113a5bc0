// <device_launch_parameters.h> for NVRTC, which declares threadIdx and its like by itself.
#pragma once

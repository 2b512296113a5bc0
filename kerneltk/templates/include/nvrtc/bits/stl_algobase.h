// <bits/stl_algobase.h> for NVRTC: only code for the host, which is left out, needs what it declares.
#pragma once
namespace std {}

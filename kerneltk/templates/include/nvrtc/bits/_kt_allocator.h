// The templates that containers' defaults name, for NVRTC.
#pragma once
namespace std {
template <class _kt_T>
class allocator {};
template <class _kt_T>
struct char_traits;
}  // namespace std

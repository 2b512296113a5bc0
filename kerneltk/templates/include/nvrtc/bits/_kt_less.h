// The function objects of <functional>, for NVRTC.
#pragma once
namespace std {
template <class _kt_T>
struct hash;
template <class _kt_T = void>
struct less {
    __host__ __device__ constexpr bool operator()(const _kt_T& _kt_x, const _kt_T& _kt_y) const {
        return _kt_x < _kt_y;
    }
};
template <>
struct less<void> {
    template <class _kt_T, class _kt_U>
    __host__ __device__ constexpr auto operator()(const _kt_T& _kt_x, const _kt_U& _kt_y) const {
        return _kt_x < _kt_y;
    }
};
template <class _kt_T = void>
struct greater {
    __host__ __device__ constexpr bool operator()(const _kt_T& _kt_x, const _kt_T& _kt_y) const {
        return _kt_x > _kt_y;
    }
};
template <>
struct greater<void> {
    template <class _kt_T, class _kt_U>
    __host__ __device__ constexpr auto operator()(const _kt_T& _kt_x, const _kt_U& _kt_y) const {
        return _kt_x > _kt_y;
    }
};
template <class _kt_T = void>
struct less_equal {
    __host__ __device__ constexpr bool operator()(const _kt_T& _kt_x, const _kt_T& _kt_y) const {
        return _kt_x <= _kt_y;
    }
};
template <>
struct less_equal<void> {
    template <class _kt_T, class _kt_U>
    __host__ __device__ constexpr auto operator()(const _kt_T& _kt_x, const _kt_U& _kt_y) const {
        return _kt_x <= _kt_y;
    }
};
template <class _kt_T = void>
struct greater_equal {
    __host__ __device__ constexpr bool operator()(const _kt_T& _kt_x, const _kt_T& _kt_y) const {
        return _kt_x >= _kt_y;
    }
};
template <>
struct greater_equal<void> {
    template <class _kt_T, class _kt_U>
    __host__ __device__ constexpr auto operator()(const _kt_T& _kt_x, const _kt_U& _kt_y) const {
        return _kt_x >= _kt_y;
    }
};
template <class _kt_T = void>
struct equal_to {
    __host__ __device__ constexpr bool operator()(const _kt_T& _kt_x, const _kt_T& _kt_y) const {
        return _kt_x == _kt_y;
    }
};
template <>
struct equal_to<void> {
    template <class _kt_T, class _kt_U>
    __host__ __device__ constexpr auto operator()(const _kt_T& _kt_x, const _kt_U& _kt_y) const {
        return _kt_x == _kt_y;
    }
};
template <class _kt_T = void>
struct not_equal_to {
    __host__ __device__ constexpr bool operator()(const _kt_T& _kt_x, const _kt_T& _kt_y) const {
        return _kt_x != _kt_y;
    }
};
template <>
struct not_equal_to<void> {
    template <class _kt_T, class _kt_U>
    __host__ __device__ constexpr auto operator()(const _kt_T& _kt_x, const _kt_U& _kt_y) const {
        return _kt_x != _kt_y;
    }
};
template <class _kt_T = void>
struct logical_and {
    __host__ __device__ constexpr bool operator()(const _kt_T& _kt_x, const _kt_T& _kt_y) const {
        return _kt_x && _kt_y;
    }
};
template <>
struct logical_and<void> {
    template <class _kt_T, class _kt_U>
    __host__ __device__ constexpr auto operator()(const _kt_T& _kt_x, const _kt_U& _kt_y) const {
        return _kt_x && _kt_y;
    }
};
template <class _kt_T = void>
struct logical_or {
    __host__ __device__ constexpr bool operator()(const _kt_T& _kt_x, const _kt_T& _kt_y) const {
        return _kt_x || _kt_y;
    }
};
template <>
struct logical_or<void> {
    template <class _kt_T, class _kt_U>
    __host__ __device__ constexpr auto operator()(const _kt_T& _kt_x, const _kt_U& _kt_y) const {
        return _kt_x || _kt_y;
    }
};
template <class _kt_T = void>
struct plus {
    __host__ __device__ constexpr _kt_T operator()(const _kt_T& _kt_x, const _kt_T& _kt_y) const {
        return _kt_x + _kt_y;
    }
};
template <>
struct plus<void> {
    template <class _kt_T, class _kt_U>
    __host__ __device__ constexpr auto operator()(const _kt_T& _kt_x, const _kt_U& _kt_y) const {
        return _kt_x + _kt_y;
    }
};
template <class _kt_T = void>
struct minus {
    __host__ __device__ constexpr _kt_T operator()(const _kt_T& _kt_x, const _kt_T& _kt_y) const {
        return _kt_x - _kt_y;
    }
};
template <>
struct minus<void> {
    template <class _kt_T, class _kt_U>
    __host__ __device__ constexpr auto operator()(const _kt_T& _kt_x, const _kt_U& _kt_y) const {
        return _kt_x - _kt_y;
    }
};
template <class _kt_T = void>
struct multiplies {
    __host__ __device__ constexpr _kt_T operator()(const _kt_T& _kt_x, const _kt_T& _kt_y) const {
        return _kt_x * _kt_y;
    }
};
template <>
struct multiplies<void> {
    template <class _kt_T, class _kt_U>
    __host__ __device__ constexpr auto operator()(const _kt_T& _kt_x, const _kt_U& _kt_y) const {
        return _kt_x * _kt_y;
    }
};
template <class _kt_T = void>
struct divides {
    __host__ __device__ constexpr _kt_T operator()(const _kt_T& _kt_x, const _kt_T& _kt_y) const {
        return _kt_x / _kt_y;
    }
};
template <>
struct divides<void> {
    template <class _kt_T, class _kt_U>
    __host__ __device__ constexpr auto operator()(const _kt_T& _kt_x, const _kt_U& _kt_y) const {
        return _kt_x / _kt_y;
    }
};
template <class _kt_T = void>
struct modulus {
    __host__ __device__ constexpr _kt_T operator()(const _kt_T& _kt_x, const _kt_T& _kt_y) const {
        return _kt_x % _kt_y;
    }
};
template <>
struct modulus<void> {
    template <class _kt_T, class _kt_U>
    __host__ __device__ constexpr auto operator()(const _kt_T& _kt_x, const _kt_U& _kt_y) const {
        return _kt_x % _kt_y;
    }
};
template <class _kt_T = void>
struct bit_and {
    __host__ __device__ constexpr _kt_T operator()(const _kt_T& _kt_x, const _kt_T& _kt_y) const {
        return _kt_x & _kt_y;
    }
};
template <>
struct bit_and<void> {
    template <class _kt_T, class _kt_U>
    __host__ __device__ constexpr auto operator()(const _kt_T& _kt_x, const _kt_U& _kt_y) const {
        return _kt_x & _kt_y;
    }
};
template <class _kt_T = void>
struct bit_or {
    __host__ __device__ constexpr _kt_T operator()(const _kt_T& _kt_x, const _kt_T& _kt_y) const {
        return _kt_x | _kt_y;
    }
};
template <>
struct bit_or<void> {
    template <class _kt_T, class _kt_U>
    __host__ __device__ constexpr auto operator()(const _kt_T& _kt_x, const _kt_U& _kt_y) const {
        return _kt_x | _kt_y;
    }
};
template <class _kt_T = void>
struct bit_xor {
    __host__ __device__ constexpr _kt_T operator()(const _kt_T& _kt_x, const _kt_T& _kt_y) const {
        return _kt_x ^ _kt_y;
    }
};
template <>
struct bit_xor<void> {
    template <class _kt_T, class _kt_U>
    __host__ __device__ constexpr auto operator()(const _kt_T& _kt_x, const _kt_U& _kt_y) const {
        return _kt_x ^ _kt_y;
    }
};
}  // namespace std

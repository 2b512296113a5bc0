// What a compiler knows of a kernel's parameters and of a variable, as constant data in its output.
//
//     KERNELTK_REFLECT(symbol, (ns::kernel<float>))
//     KERNELTK_REFLECT_VARIABLE(symbol, (ns::table))
//
// make an object `symbol` with C linkage; of many kernels,
//
//     KERNELTK_DESCRIBE(first, (ns::kernel<float>))
//     KERNELTK_REFLECT_GROUP(symbol, first, second, third)
//
// one for several descriptions, which follow each other. All numbers are 32 bits wide, lower bytes first:
//
//     magic, length of the whole in bytes, number of types, offset of the names
//     for each type: size, alignment, flags; the same three of what it points to or is an array of
//     the names of all types, as the compiler writes them for a template's arguments; a zero
//
// Where all are fundamental types and pointers to them, a byte for each (`_kt_code`) says the same:
// of 700 kernels that saves NVRTC a second.
//
//     magic, length of the whole in bytes
//     the codes; a zero
//
// The user's source comes behind this file, but the user's -D options come before: hence the names.

#ifndef _KT_REFLECT_HPP
#define _KT_REFLECT_HPP

#if defined(__CUDACC__) && !defined(__KERNELTK_HOST__)
#define _KT_REFLECT_FUNCTION __host__ __device__ constexpr
#define _KT_REFLECT_OBJECT __device__
#define _KT_REFLECT_EXPORTED
#else
#define _KT_REFLECT_FUNCTION constexpr
#define _KT_REFLECT_OBJECT
#define _KT_REFLECT_EXPORTED __attribute__((__visibility__("default")))
#endif

namespace kerneltk {
namespace _kt_reflect {

using _kt_u32 = unsigned int;

enum : _kt_u32 {
    _kt_pointer = 1,
    _kt_enum = 2,
    _kt_class = 4,
    _kt_union = 8,
    _kt_const = 16,
    _kt_volatile = 32,
    _kt_function = 64,
    _kt_reference = 128,
    _kt_void = 256,
    _kt_incomplete = 512,
    _kt_array = 1024,
    _kt_trivial = 2048,
};

// The place of a fundamental type in `_FUNDAMENTAL` of object_code/reflection.py.
template <class _kt_T> struct _kt_place {
    enum : _kt_u32 { _kt_value = 0 };
};
#define _KT_REFLECT_PLACE(_kt_number, ...)            \
    template <> struct _kt_place<__VA_ARGS__> {       \
        enum : _kt_u32 { _kt_value = _kt_number };    \
    };
_KT_REFLECT_PLACE(1, void)
_KT_REFLECT_PLACE(2, decltype(!0))  // old C has -Dbool=int
_KT_REFLECT_PLACE(3, char)
_KT_REFLECT_PLACE(4, signed char)
_KT_REFLECT_PLACE(5, unsigned char)
_KT_REFLECT_PLACE(6, short)
_KT_REFLECT_PLACE(7, unsigned short)
_KT_REFLECT_PLACE(8, int)
_KT_REFLECT_PLACE(9, unsigned int)
_KT_REFLECT_PLACE(10, long)
_KT_REFLECT_PLACE(11, unsigned long)
_KT_REFLECT_PLACE(12, long long)
_KT_REFLECT_PLACE(13, unsigned long long)
_KT_REFLECT_PLACE(14, float)
_KT_REFLECT_PLACE(15, double)
#undef _KT_REFLECT_PLACE
// A place, with a bit each for what it points to; zero for all other types.
template <class _kt_T, _kt_u32 _kt_bits = 64> struct _kt_pointer_code {
    enum : _kt_u32 { _kt_value = _kt_place<_kt_T>::_kt_value ? _kt_place<_kt_T>::_kt_value | _kt_bits : 0 };
};
template <class _kt_T> struct _kt_pointer_code<const _kt_T> : _kt_pointer_code<_kt_T, 64 | 16> {};
template <class _kt_T> struct _kt_code : _kt_place<_kt_T> {};
template <class _kt_T> struct _kt_code<_kt_T*> : _kt_pointer_code<_kt_T> {};
template <bool...> struct _kt_bools;
template <class, class> struct _kt_same {
    enum : bool { _kt_value = false };
};
template <class _kt_T> struct _kt_same<_kt_T, _kt_T> {
    enum : bool { _kt_value = true };
};
template <class... _kt_P>
using _kt_have_codes = _kt_same<_kt_bools<true, (_kt_code<_kt_P>::_kt_value != 0)...>,
                                _kt_bools<(_kt_code<_kt_P>::_kt_value != 0)..., true>>;

template <bool> struct _kt_choice {
    template <class _kt_T> static _KT_REFLECT_FUNCTION _kt_u32 _kt_size() { return sizeof(_kt_T); }
    template <class _kt_T> static _KT_REFLECT_FUNCTION _kt_u32 _kt_align() { return alignof(_kt_T); }
    template <class _kt_T> static _KT_REFLECT_FUNCTION _kt_u32 _kt_flags() {
        return __is_enum(_kt_T) * _kt_enum | __is_class(_kt_T) * _kt_class |
               __is_union(_kt_T) * _kt_union | __is_trivially_copyable(_kt_T) * _kt_trivial;
    }
};
template <> struct _kt_choice<false> {
    template <class _kt_T> static _KT_REFLECT_FUNCTION _kt_u32 _kt_size() { return 0; }
    template <class _kt_T> static _KT_REFLECT_FUNCTION _kt_u32 _kt_align() { return 0; }
    template <class _kt_T> static _KT_REFLECT_FUNCTION _kt_u32 _kt_flags() {
        return _kt_incomplete;
    }
};

// Only a type that is defined has a size; `void` and functions have none.
template <class _kt_T, _kt_u32 = sizeof(_kt_T)>
_KT_REFLECT_FUNCTION bool _kt_is_complete(int) {
    return true;
}
template <class _kt_T> _KT_REFLECT_FUNCTION bool _kt_is_complete(...) { return false; }

struct _kt_properties {
    _kt_u32 _kt_size, _kt_align, _kt_flags;
};

template <class _kt_T> struct _kt_type {
    static _KT_REFLECT_FUNCTION _kt_properties _kt_own() {
        using _kt_c = _kt_choice<_kt_is_complete<_kt_T>(0)>;
        return {_kt_c::template _kt_size<_kt_T>(), _kt_c::template _kt_align<_kt_T>(),
                _kt_c::template _kt_flags<_kt_T>()};
    }
    static _KT_REFLECT_FUNCTION _kt_properties _kt_inner() { return {0, 0, 0}; }
};
template <_kt_u32 _kt_flags> struct _kt_without_size {
    static _KT_REFLECT_FUNCTION _kt_properties _kt_own() { return {0, 0, _kt_flags}; }
    static _KT_REFLECT_FUNCTION _kt_properties _kt_inner() { return {0, 0, 0}; }
};
template <> struct _kt_type<void> : _kt_without_size<_kt_void> {};
template <class _kt_R, class... _kt_A>
struct _kt_type<_kt_R(_kt_A...)> : _kt_without_size<_kt_function> {};
#define _KT_REFLECT_QUALIFIED(_kt_qualifiers, _kt_added)                             \
    template <class _kt_T> struct _kt_type<_kt_qualifiers _kt_T> : _kt_type<_kt_T> { \
        static _KT_REFLECT_FUNCTION _kt_properties _kt_own() {                       \
            _kt_properties _kt_p = _kt_type<_kt_T>::_kt_own();                       \
            _kt_p._kt_flags |= _kt_added;                                            \
            return _kt_p;                                                            \
        }                                                                            \
    };
_KT_REFLECT_QUALIFIED(const, _kt_const)
_KT_REFLECT_QUALIFIED(volatile, _kt_volatile)
_KT_REFLECT_QUALIFIED(const volatile, _kt_const | _kt_volatile)
#undef _KT_REFLECT_QUALIFIED
template <class _kt_T> struct _kt_type<_kt_T*> {
    static _KT_REFLECT_FUNCTION _kt_properties _kt_own() {
        return {sizeof(_kt_T*), alignof(_kt_T*), _kt_pointer | _kt_trivial};
    }
    static _KT_REFLECT_FUNCTION _kt_properties _kt_inner() { return _kt_type<_kt_T>::_kt_own(); }
};
template <class _kt_T> struct _kt_type<_kt_T&> {
    static _KT_REFLECT_FUNCTION _kt_properties _kt_own() {
        return {sizeof(_kt_T*), alignof(_kt_T*), _kt_reference};
    }
    static _KT_REFLECT_FUNCTION _kt_properties _kt_inner() { return _kt_type<_kt_T>::_kt_own(); }
};

// The element of an array of any rank.
template <class _kt_T> struct _kt_element {
    using _kt_of = _kt_type<_kt_T>;
};
template <class _kt_T, decltype(sizeof(0)) _kt_N> struct _kt_element<_kt_T[_kt_N]> {
    using _kt_of = typename _kt_element<_kt_T>::_kt_of;
};
template <class _kt_T> struct _kt_element<_kt_T[]> {
    using _kt_of = typename _kt_element<_kt_T>::_kt_of;
};
template <class _kt_T> struct _kt_array_type {
    static _KT_REFLECT_FUNCTION _kt_properties _kt_own() {
        using _kt_c = _kt_choice<_kt_is_complete<_kt_T>(0)>;
        return {_kt_c::template _kt_size<_kt_T>(), _kt_c::template _kt_align<_kt_T>(), _kt_array};
    }
    static _KT_REFLECT_FUNCTION _kt_properties _kt_inner() {
        return _kt_element<_kt_T>::_kt_of::_kt_own();
    }
};
template <class _kt_T, decltype(sizeof(0)) _kt_N>
struct _kt_type<_kt_T[_kt_N]> : _kt_array_type<_kt_T[_kt_N]> {};
template <class _kt_T, decltype(sizeof(0)) _kt_N>
struct _kt_type<const _kt_T[_kt_N]> : _kt_array_type<const _kt_T[_kt_N]> {};
template <class _kt_T, decltype(sizeof(0)) _kt_N>
struct _kt_type<volatile _kt_T[_kt_N]> : _kt_array_type<volatile _kt_T[_kt_N]> {};
template <class _kt_T, decltype(sizeof(0)) _kt_N>
struct _kt_type<const volatile _kt_T[_kt_N]> : _kt_array_type<const volatile _kt_T[_kt_N]> {};
template <class _kt_T> struct _kt_type<_kt_T[]> : _kt_array_type<_kt_T[]> {};
template <class _kt_T> struct _kt_type<const _kt_T[]> : _kt_array_type<const _kt_T[]> {};

struct _kt_string {
    const char* _kt_chars;
    _kt_u32 _kt_length;
};

template <class... _kt_P> struct _kt_types {
    // Its own name, as a constant: the only way to a type's spelling.
    static _KT_REFLECT_FUNCTION _kt_string _kt_spelling() {
        return {__PRETTY_FUNCTION__, sizeof(__PRETTY_FUNCTION__) - 1};
    }
};

struct _kt_record {
    _kt_properties _kt_own, _kt_inner;
};

template <_kt_u32 _kt_count, _kt_u32 _kt_length> struct _kt_data {
    _kt_u32 _kt_magic, _kt_bytes, _kt_types_count, _kt_names_offset;
    _kt_record _kt_records[_kt_count];
    char _kt_names[_kt_length];
};

// The types' names begin behind the first `=`, and the rest up to the end is a bracket.
_KT_REFLECT_FUNCTION _kt_u32 _kt_begin(const char* _kt_s) {
    _kt_u32 _kt_i = 0;
    while (_kt_s[_kt_i] != '=') ++_kt_i;
    return _kt_i + 1;
}

template <class _kt_L> struct _kt_describe;
template <class _kt_L, bool _kt_by_codes> struct _kt_describe_by;
template <class... _kt_P>
struct _kt_describe<_kt_types<_kt_P...>>
    : _kt_describe_by<_kt_types<_kt_P...>, _kt_have_codes<_kt_P...>::_kt_value> {};
template <_kt_u32 _kt_length> struct _kt_codes {
    _kt_u32 _kt_magic, _kt_bytes;
    unsigned char _kt_code[_kt_length];
};
template <class... _kt_P> struct _kt_describe_by<_kt_types<_kt_P...>, true> {
    using _kt_result = _kt_codes<(sizeof...(_kt_P) + 4) / 4 * 4>;
    static _KT_REFLECT_FUNCTION _kt_result _kt_value() {
        return {0x3252544Bu, sizeof(_kt_result), {_kt_code<_kt_P>::_kt_value...}};
    }
};
template <class... _kt_P> struct _kt_describe_by<_kt_types<_kt_P...>, false> {
    // No static members: NVRTC makes a variable of each, and ptxas takes a time for a kernel that
    // grows with the number of variables.
    enum : _kt_u32 {
        _kt_first = _kt_begin(_kt_types<_kt_P...>::_kt_spelling()._kt_chars),
        _kt_last = _kt_types<_kt_P...>::_kt_spelling()._kt_length,
    };
    using _kt_result = _kt_data<sizeof...(_kt_P), (_kt_last - _kt_first + 4) / 4 * 4>;
    static _KT_REFLECT_FUNCTION _kt_result _kt_value() {
        _kt_result _kt_r{0x3152544Bu, sizeof(_kt_result), sizeof...(_kt_P),
                         16 + sizeof...(_kt_P) * 24,
                         {{_kt_type<_kt_P>::_kt_own(), _kt_type<_kt_P>::_kt_inner()}...}, {}};
        const char* _kt_s = _kt_types<_kt_P...>::_kt_spelling()._kt_chars + _kt_first;
        for (char* _kt_d = _kt_r._kt_names; *_kt_s; ++_kt_s, ++_kt_d) *_kt_d = *_kt_s;
        return _kt_r;
    }
};

// Descriptions that follow each other in one variable.
template <class... _kt_L> struct _kt_group;
template <class _kt_L> struct _kt_group<_kt_L> {
    typename _kt_describe<_kt_L>::_kt_result _kt_first;
    static _KT_REFLECT_FUNCTION _kt_group _kt_value() {
        return {_kt_describe<_kt_L>::_kt_value()};
    }
};
template <class _kt_L, class... _kt_R> struct _kt_group<_kt_L, _kt_R...> {
    typename _kt_describe<_kt_L>::_kt_result _kt_first;
    _kt_group<_kt_R...> _kt_rest;
    static _KT_REFLECT_FUNCTION _kt_group _kt_value() {
        return {_kt_describe<_kt_L>::_kt_value(), _kt_group<_kt_R...>::_kt_value()};
    }
};

// NVRTC takes no function without an annotation, not even one that is only declared.
template <class... _kt_P>
_KT_REFLECT_FUNCTION _kt_types<_kt_P...> _kt_parameters(void (*)(_kt_P...)) {
    return {};
}

}  // namespace _kt_reflect
}  // namespace kerneltk

#define _KT_REFLECT_STRIP(...) __VA_ARGS__
#define KERNELTK_REFLECT_GROUP(_kt_symbol, ...)                                     \
    extern "C" {                                                                    \
    _KT_REFLECT_EXPORTED extern _KT_REFLECT_OBJECT const ::kerneltk::_kt_reflect::  \
        _kt_group<__VA_ARGS__> _kt_symbol;                                          \
    _KT_REFLECT_OBJECT const ::kerneltk::_kt_reflect::_kt_group<__VA_ARGS__>        \
        _kt_symbol = ::kerneltk::_kt_reflect::_kt_group<__VA_ARGS__>::_kt_value();  \
    }

#define _KT_REFLECT_TYPES(_kt_kernel) \
    decltype(::kerneltk::_kt_reflect::_kt_parameters(_KT_REFLECT_STRIP _kt_kernel))
#define KERNELTK_DESCRIBE(_kt_symbol, _kt_kernel) using _kt_symbol = _KT_REFLECT_TYPES(_kt_kernel);
#define KERNELTK_REFLECT(_kt_symbol, _kt_kernel) \
    KERNELTK_REFLECT_GROUP(_kt_symbol, _KT_REFLECT_TYPES(_kt_kernel))
#define KERNELTK_REFLECT_VARIABLE(_kt_symbol, _kt_variable) \
    KERNELTK_REFLECT_GROUP(_kt_symbol,                      \
                           ::kerneltk::_kt_reflect::_kt_types<decltype(_KT_REFLECT_STRIP _kt_variable)>)

// A constant that holds the address of a kernel or of a variable: its initial value names the
// symbol, which nvcc tells in no other way.
#define KERNELTK_ADDRESS(_kt_symbol, _kt_name)                                      \
    extern "C" {                                                                    \
    extern _KT_REFLECT_OBJECT void* const _kt_symbol;                               \
    _KT_REFLECT_OBJECT void* const _kt_symbol = (void*)&_KT_REFLECT_STRIP _kt_name; \
    }

// A function that returns the address of a kernel of a template, by which NVRTC finds its symbol: by
// the kernel's own name it crashes where the template's declaration has an error (12.9). A name may
// be a pointer, too, such as a cast.
#define KERNELTK_TEMPLATE(_kt_symbol, _kt_name)              \
    static __host__ __device__ constexpr auto _kt_symbol() { \
        auto _kt_kernel = _KT_REFLECT_STRIP _kt_name;        \
        return _kt_kernel;                                   \
    }

#endif

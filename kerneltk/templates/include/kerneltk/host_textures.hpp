// CUDA's texture and surface objects for host compilers, as "Texture Fetching" and "Surface Functions"
// of the CUDA C++ Programming Guide describe them. An object's handle tells its descriptor, which
// kerneltk/backends/host/textures.py fills in.
#pragma once
#include <kerneltk/binary16.hpp>
#include <kerneltk/core.hpp>
#include <kerneltk/host_vector.hpp>

using cudaTextureObject_t = unsigned long long;
using cudaSurfaceObject_t = unsigned long long;

enum cudaTextureAddressMode {
    cudaAddressModeWrap = 0,
    cudaAddressModeClamp = 1,
    cudaAddressModeMirror = 2,
    cudaAddressModeBorder = 3,
};
enum cudaTextureFilterMode { cudaFilterModePoint = 0, cudaFilterModeLinear = 1 };
enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };
enum cudaSurfaceBoundaryMode {
    cudaBoundaryModeZero = 0,
    cudaBoundaryModeClamp = 1,
    cudaBoundaryModeTrap = 2,
};

// Checks of memory are for the user's own accesses: these are checked by their coordinates.
#ifdef KERNELTK_UNCHECKED
#define KERNELTK_TEXTURE KERNELTK_UNCHECKED inline
#else
#define KERNELTK_TEXTURE inline
#endif

namespace kerneltk::textures {

using word = unsigned long long;
using byte = unsigned char;

enum object : byte { texture = 1, surface = 2 };
enum memory : byte { array = 0, linear = 2, pitch2d = 3 };
enum kind : byte { signed_integer = 0, unsigned_integer = 1, floating = 2 };

// The first one is of no object: there a kernel says why it failed.
struct descriptor {
    word handle;  // the object's; 0 where there is none
    byte* data;
    long long row, slice;    // bytes from one row, and from one plane or layer, to the next
    int extent[3], layers;   // texels along x, y and z; 0 layers where it is not layered
    byte what, dimensions, source, format;
    byte bytes, channels, filter, normalized;  // bytes of a channel
    byte address[3], as_float;                 // whether reads give floats
    byte gathers, cube, unused[2];  // cube: 1 of a cubemap, 2 of a layered one; layers are faces
    float border[4];
    const char *function, *reason;
};
static_assert(sizeof(descriptor) == 96, "the layout is also that of textures.py");
constexpr unsigned int most_objects = 1u << 16;

}  // namespace kerneltk::textures

// Filled in when the unit is loaded.
extern "C" {
__attribute__((visibility("default"), used)) kerneltk::textures::descriptor* _kt_textures = nullptr;
}

namespace kerneltk::textures {

[[noreturn]] __attribute__((cold, noinline)) KERNELTK_TEXTURE void fail(const char* function,
                                                                       const char* reason) {
#ifdef KERNELTK_ENTRY  // a kernel of a grid
    grid::assertion_failed(function, reason, 0);
#else
    _kt_textures->function = function;
    _kt_textures->reason = reason;
    __builtin_trap();
#endif
}

KERNELTK_TEXTURE const descriptor& find(word handle, object what, const char* function) {
    const unsigned int index = static_cast<unsigned int>(handle);
    if (index == 0 || index >= most_objects || _kt_textures[index].handle != handle)
        fail(function, what == texture ? "there is no texture object with this handle, or not any more"
                                       : "there is no surface object with this handle, or not any more");
    const descriptor& found = _kt_textures[index];
    if (found.what != what)
        fail(function, what == texture ? "the object is a surface" : "the object is a texture");
    return found;
}

// ---- the types that are read and written ----

template <class T>
struct parts {
    using type = float;  // of what cannot be read; `check_type` says so
    static constexpr int count = 0;
};
#define KERNELTK_PARTS(T, C, n)               \
    template <>                               \
    struct parts<T> {                         \
        using type = C;                       \
        static constexpr int count = n;       \
    };
#define KERNELTK_VECTOR_PARTS(name, C) \
    KERNELTK_PARTS(name##1, C, 1)      \
    KERNELTK_PARTS(name##2, C, 2)      \
    KERNELTK_PARTS(name##4, C, 4)
KERNELTK_PARTS(char, char, 1)
KERNELTK_PARTS(signed char, signed char, 1)
KERNELTK_PARTS(unsigned char, unsigned char, 1)
KERNELTK_PARTS(short, short, 1)
KERNELTK_PARTS(unsigned short, unsigned short, 1)
KERNELTK_PARTS(int, int, 1)
KERNELTK_PARTS(unsigned int, unsigned int, 1)
KERNELTK_PARTS(float, float, 1)
KERNELTK_VECTOR_PARTS(char, signed char)
KERNELTK_VECTOR_PARTS(uchar, unsigned char)
KERNELTK_VECTOR_PARTS(short, short)
KERNELTK_VECTOR_PARTS(ushort, unsigned short)
KERNELTK_VECTOR_PARTS(int, int)
KERNELTK_VECTOR_PARTS(uint, unsigned int)
KERNELTK_VECTOR_PARTS(float, float)
#undef KERNELTK_VECTOR_PARTS
#undef KERNELTK_PARTS

template <class C>
constexpr kind kind_of = static_cast<C>(0.5f) != static_cast<C>(0) ? floating
                         : static_cast<C>(-1) < static_cast<C>(0)  ? signed_integer
                                                                   : unsigned_integer;

// Of surfaces, whose elements are bytes alone.
template <class T>
constexpr bool is_stored =
    parts<T>::count != 0 || __is_same(T, long long) || __is_same(T, unsigned long long) ||
    __is_same(T, longlong1) || __is_same(T, ulonglong1) || __is_same(T, longlong2) ||
    __is_same(T, ulonglong2);

template <class C>
struct vector4 {
    C part[4];
};

template <class T, class C>
KERNELTK_TEXTURE T packed(const vector4<C>& value) {
    using P = typename parts<T>::type;
    if constexpr (sizeof(T) == sizeof(P) && parts<T>::count == 1) {
        union {
            P from;
            T to;
        } one = {static_cast<P>(value.part[0])};
        return one.to;
    } else if constexpr (parts<T>::count == 2) {
        return T{static_cast<P>(value.part[0]), static_cast<P>(value.part[1])};
    } else {
        return T{static_cast<P>(value.part[0]), static_cast<P>(value.part[1]),
                 static_cast<P>(value.part[2]), static_cast<P>(value.part[3])};
    }
}

// ---- one texel ----

template <class T>
struct __attribute__((may_alias)) stored {
    T value;
};

template <class C>
KERNELTK_TEXTURE C element(const byte* at, int channel) {
    return reinterpret_cast<const stored<C>*>(at)[channel].value;
}

KERNELTK_TEXTURE float read_float(const descriptor& d, const byte* at, int channel) {
    if (d.format == floating)
        return d.bytes == 4 ? element<float>(at, channel)
                            : binary16::value(element<unsigned short>(at, channel));
    if (d.format == unsigned_integer)
        return d.bytes == 1 ? static_cast<float>(element<unsigned char>(at, channel)) / 255.0f
                            : static_cast<float>(element<unsigned short>(at, channel)) / 65535.0f;
    const float value = d.bytes == 1
                            ? static_cast<float>(element<signed char>(at, channel)) / 127.0f
                            : static_cast<float>(element<short>(at, channel)) / 32767.0f;
    return value < -1.0f ? -1.0f : value;
}

KERNELTK_TEXTURE long long read_integer(const descriptor& d, const byte* at, int channel) {
    if (d.format == unsigned_integer)
        return d.bytes == 1   ? element<unsigned char>(at, channel)
               : d.bytes == 2 ? element<unsigned short>(at, channel)
                              : element<unsigned int>(at, channel);
    return d.bytes == 1   ? element<signed char>(at, channel)
           : d.bytes == 2 ? element<short>(at, channel)
                          : element<int>(at, channel);
}

template <class C>
KERNELTK_TEXTURE C read(const descriptor& d, const byte* at, int channel) {
    if constexpr (kind_of<C> == floating)
        return at ? read_float(d, at, channel) : d.border[channel];
    else
        return at ? static_cast<C>(read_integer(d, at, channel)) : C();
}

// ---- coordinates ----

// A coordinate in texels, moved by its address mode as far as that does not take texels' numbers.
KERNELTK_TEXTURE float scaled(const descriptor& d, int axis, float x) {
    if (!d.normalized) return x;
    const byte mode = d.address[axis];
    if (mode == cudaAddressModeWrap) {
        x -= __builtin_floorf(x);
    } else if (mode == cudaAddressModeMirror) {
        const float whole = __builtin_floorf(x), rest = x - whole;
        x = whole - 2.0f * __builtin_floorf(whole * 0.5f) == 0.0f ? rest : 1.0f - rest;
    }
    return x * static_cast<float>(d.extent[axis]);
}

// The number of the texel, by its address mode; -1 is the border.
KERNELTK_TEXTURE int placed(const descriptor& d, int axis, int index) {
    const int extent = d.extent[axis];
    const byte mode = d.address[axis];
    if (mode == cudaAddressModeBorder) return index < 0 || index >= extent ? -1 : index;
    if (mode == cudaAddressModeWrap && d.normalized) {
        const int rest = index % extent;
        return rest < 0 ? rest + extent : rest;
    }
    return index < 0 ? 0 : index >= extent ? extent - 1 : index;
}

// What is beyond the texture, and what is no number, as a number that fits.
KERNELTK_TEXTURE int whole(float x, int extent) {
    if (!(x >= -2.0f)) return x == x ? -2 : 0;
    return x > static_cast<float>(extent) ? extent + 1 : static_cast<int>(x);
}

KERNELTK_TEXTURE int nearest(const descriptor& d, int axis, float x) {
    const float at = __builtin_floorf(scaled(d, axis, x));
    int index = whole(at, d.extent[axis]);
    // A fraction may be rounded to 1.
    if (d.normalized && d.address[axis] == cudaAddressModeWrap && index == d.extent[axis]) --index;
    return placed(d, axis, index);
}

// Two texels, and the second one's weight: a number of 9 bits, 8 of them behind the point.
struct pair {
    int first;
    int weight;  // of 256
};

KERNELTK_TEXTURE pair neighbours(const descriptor& d, int axis, float x) {
    const float at = scaled(d, axis, x) - 0.5f, low = __builtin_floorf(at);
    const int first = whole(low, d.extent[axis]);
    const float rest = at - low;
    if (!(rest >= 0.0f && rest < 1.0f)) return {first, 0};  // infinite, or no number
    const int weight = static_cast<int>(rest * 256.0f + 0.5f);
    return weight == 256 ? pair{first + 1, 0} : pair{first, weight};
}

KERNELTK_TEXTURE const byte* texel(const descriptor& d, int x, int y, int z) {
    if (x < 0 || y < 0 || z < 0) return nullptr;
    return d.data + z * d.slice + y * d.row + static_cast<long long>(x) * d.bytes * d.channels;
}

// ---- fetches ----

template <class T>
KERNELTK_TEXTURE void check_type(const descriptor& d, const char* function) {
    static_assert(parts<T>::count != 0, "a texture is read as char, short, int, their unsigned "
                                        "types, float, or vectors of 1, 2 or 4 of them");
    using C = typename parts<T>::type;
    if ((kind_of<C> == floating) != (d.as_float != 0))
        fail(function, d.as_float ? "this texture gives floats, and an integer type is asked for"
                                  : "this texture gives integers, and a float type is asked for");
    if (kind_of<C> != floating && kind_of<C> != d.format)
        fail(function, "the type that is asked for and the texture's elements differ in their sign");
    if (kind_of<C> != floating && sizeof(C) < d.bytes)
        fail(function, "the texture's elements are larger than the type that is asked for");
    if (parts<T>::count > d.channels)
        fail(function, "the texture's elements have fewer channels than the type that is asked for");
}

KERNELTK_TEXTURE void check_shape(const descriptor& d, int dimensions, const int* layer,
                                  const char* function, int cube = 0) {
    if (d.source == linear)
        fail(function, "the texture is in linear memory, which tex1Dfetch reads alone");
    if (d.cube != cube)
        fail(function, d.cube == 0   ? "the texture is no cubemap"
                       : d.cube == 1 ? "the texture is a cubemap without layers"
                                     : "the texture is a cubemap with layers");
    if ((d.layers != 0) != (layer != nullptr))
        fail(function, layer ? "the texture has no layers" : "the texture is layered");
    if (d.dimensions != dimensions)
        fail(function, d.dimensions == 1   ? "the texture has 1 dimension"
                       : d.dimensions == 2 ? "the texture has 2 dimensions"
                                           : "the texture has 3 dimensions");
    if (layer && (*layer < 0 || *layer >= d.layers)) fail(function, "the texture has no such layer");
}

template <class T, int N>
KERNELTK_TEXTURE T sample(const char* function, word handle, const float (&at)[N],
                          const int* layer = nullptr, int cube = 0) {
    const descriptor& d = find(handle, texture, function);
    check_type<T>(d, function);
    check_shape(d, N, layer, function, cube);
    using C = typename parts<T>::type;
    vector4<C> value = {};
    const int plane = layer ? *layer : 0;
    if constexpr (kind_of<C> == floating) {
        if (d.filter == cudaFilterModeLinear) {
            pair along[3] = {{0, 0}, {0, 0}, {plane, 0}};
            int texels[3][2] = {{0, 0}, {0, 0}, {plane, plane}};
            for (int axis = 0; axis < N; ++axis) {
                along[axis] = neighbours(d, axis, at[axis]);
                texels[axis][0] = placed(d, axis, along[axis].first);
                texels[axis][1] = placed(d, axis, along[axis].first + 1);
            }
            for (int corner = 0; corner < 1 << N; ++corner) {
                int weight = 1, x[3] = {0, 0, plane};
                for (int axis = 0; axis < N; ++axis) {
                    const int side = corner >> axis & 1;
                    weight *= side ? along[axis].weight : 256 - along[axis].weight;
                    x[axis] = texels[axis][side];
                }
                if (weight == 0) continue;  // infinite or no number, it would count otherwise
                constexpr float unit = N == 1 ? 1.0f / 256 : N == 2 ? 1.0f / 65536 : 1.0f / 16777216;
                const byte* from = texel(d, x[0], x[1], x[2]);
                for (int k = 0; k < parts<T>::count; ++k)
                    value.part[k] += static_cast<float>(weight) * unit * read<float>(d, from, k);
            }
            return packed<T>(value);
        }
    }
    int x[3] = {0, 0, plane};
    for (int axis = 0; axis < N; ++axis) x[axis] = nearest(d, axis, at[axis]);
    const byte* from = texel(d, x[0], x[1], x[2]);
    for (int k = 0; k < parts<T>::count; ++k) value.part[k] = read<C>(d, from, k);
    return packed<T>(value);
}

// A direction: the face, and where in it.
template <class T>
KERNELTK_TEXTURE T sample_cube(const char* function, word handle, float x, float y, float z,
                               const int* layer = nullptr) {
    const float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z);
    int face;
    float most, s, t;
    if (ax >= ay && ax >= az) {
        face = x >= 0 ? 0 : 1, most = ax, s = x >= 0 ? -z : z, t = -y;
    } else if (ay >= az) {
        face = y >= 0 ? 2 : 3, most = ay, s = x, t = y >= 0 ? z : -z;
    } else {
        face = z >= 0 ? 4 : 5, most = az, s = z >= 0 ? x : -x, t = -y;
    }
    if (layer && *layer < 0) fail(function, "the texture has no such layer");
    // Beyond the last layer it stays one that there is not.
    const long long plane = face + 6ll * (layer ? *layer : 0);
    const int number = plane < 0x7fffffff ? static_cast<int>(plane) : 0x7fffffff;
    const float at[] = {(s / most + 1) / 2, (t / most + 1) / 2};
    return sample<T>(function, handle, at, &number, layer ? 2 : 1);
}

template <class T>
KERNELTK_TEXTURE T fetch(const char* function, word handle, int x) {
    const descriptor& d = find(handle, texture, function);
    check_type<T>(d, function);
    if (d.source != linear)
        fail(function, "the texture is in an array or in pitched memory, and it reads linear memory");
    using C = typename parts<T>::type;
    vector4<C> value = {};
    if (x >= 0 && x < d.extent[0]) {
        const byte* from = texel(d, x, 0, 0);
        for (int k = 0; k < parts<T>::count; ++k) value.part[k] = read<C>(d, from, k);
    }
    return packed<T>(value);
}

template <class T>
KERNELTK_TEXTURE T gather(const char* function, word handle, float x, float y, int channel) {
    static_assert(parts<T>::count == 4, "tex2Dgather returns vectors of 4");
    using C = typename parts<T>::type;
    const descriptor& d = find(handle, texture, function);
    check_type<C>(d, function);
    check_shape(d, 2, nullptr, function);
    if (!d.gathers) fail(function, "the texture's array was made without cudaArrayTextureGather");
    if (channel < 0 || channel >= d.channels) fail(function, "the texture has no such channel");
    const int left = neighbours(d, 0, x).first, top = neighbours(d, 1, y).first;
    constexpr int order[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    vector4<C> value;
    for (int k = 0; k < 4; ++k) {
        const int column = placed(d, 0, left + order[k][0]), row = placed(d, 1, top + order[k][1]);
        value.part[k] = read<C>(d, texel(d, column, row, 0), channel);
    }
    return packed<T>(value);
}

// ---- surfaces ----

// Where an element of a surface is; null where it is outside of it and the mode allows that. The
// first coordinate counts bytes.
template <class T, int N>
KERNELTK_TEXTURE byte* at_surface(const char* function, word handle, const int (&at)[N],
                                  cudaSurfaceBoundaryMode mode, const int* layer = nullptr,
                                  int cube = 0) {
    static_assert(is_stored<T>, "a surface holds char, short, int, long long, their unsigned types, "
                                "float, or vectors of 1, 2 or 4 of them");
    const descriptor& d = find(handle, surface, function);
    check_shape(d, N, layer, function, cube);
    constexpr int size = sizeof(T);
    const int width = d.extent[0] * d.bytes * d.channels;
    if (at[0] % size != 0) fail(function, "x, in bytes, is no multiple of the size of the type");
    if (width % size != 0) fail(function, "a row is no whole number of elements of the type");
    long long x[3] = {at[0], 0, layer ? *layer : 0};
    bool outside = false;
    for (int axis = 0; axis < N; ++axis) {
        x[axis] = at[axis];
        const long long last = axis == 0 ? width - size : d.extent[axis] - 1;
        if (x[axis] >= 0 && x[axis] <= last) continue;
        outside = true;
        x[axis] = x[axis] < 0 ? 0 : last;
    }
    if (outside && mode == cudaBoundaryModeZero) return nullptr;
    if (outside && mode != cudaBoundaryModeClamp)
        fail(function, "its coordinates are outside of the surface (x counts bytes)");
    return d.data + x[2] * d.slice + x[1] * d.row + x[0];
}

template <class T>
KERNELTK_TEXTURE T loaded(const byte* from) {
    return from ? reinterpret_cast<const stored<T>*>(from)->value : T{};
}

template <class T>
KERNELTK_TEXTURE void store(byte* to, T value) {
    if (to) reinterpret_cast<stored<T>*>(to)->value = value;
}

}  // namespace kerneltk::textures

// ---- CUDA's functions ----

// Textures have no mipmaps: every level of detail is the only one.
#define KERNELTK_LIST(...) __VA_ARGS__
#define KERNELTK_SAMPLED_BY(name, parameters, at, layer)                                           \
    template <class T>                                                                             \
    KERNELTK_TEXTURE T name(cudaTextureObject_t object, parameters) {                              \
        const float place[] = {at};                                                                \
        return kerneltk::textures::sample<T>(#name, object, place layer);                          \
    }                                                                                              \
    template <class T>                                                                             \
    KERNELTK_TEXTURE void name(T* to, cudaTextureObject_t object, parameters) {                    \
        const float place[] = {at};                                                                \
        *to = kerneltk::textures::sample<T>(#name, object, place layer);                           \
    }
#define KERNELTK_SAMPLED(name, parameters, gradient, at, layer)                                    \
    KERNELTK_SAMPLED_BY(name, KERNELTK_LIST(parameters), KERNELTK_LIST(at), KERNELTK_LIST(layer))  \
    KERNELTK_SAMPLED_BY(name##Lod, KERNELTK_LIST(parameters, float), KERNELTK_LIST(at),            \
                        KERNELTK_LIST(layer))                                                      \
    KERNELTK_SAMPLED_BY(name##Grad, KERNELTK_LIST(parameters, gradient, gradient),                 \
                        KERNELTK_LIST(at), KERNELTK_LIST(layer))
KERNELTK_SAMPLED(tex1D, KERNELTK_LIST(float x), float, x, )
KERNELTK_SAMPLED(tex2D, KERNELTK_LIST(float x, float y), float2, KERNELTK_LIST(x, y), )
KERNELTK_SAMPLED(tex3D, KERNELTK_LIST(float x, float y, float z), float4, KERNELTK_LIST(x, y, z), )
KERNELTK_SAMPLED(tex1DLayered, KERNELTK_LIST(float x, int layer), float, x, KERNELTK_LIST(, &layer))
KERNELTK_SAMPLED(tex2DLayered, KERNELTK_LIST(float x, float y, int layer), float2,
                 KERNELTK_LIST(x, y), KERNELTK_LIST(, &layer))
#undef KERNELTK_SAMPLED
#undef KERNELTK_SAMPLED_BY

#define KERNELTK_CUBE(name, parameters, layer)                                                     \
    template <class T>                                                                             \
    KERNELTK_TEXTURE T name(cudaTextureObject_t object, float x, float y, float z parameters) {    \
        return kerneltk::textures::sample_cube<T>(#name, object, x, y, z layer);                   \
    }                                                                                              \
    template <class T>                                                                             \
    KERNELTK_TEXTURE void name(T* to, cudaTextureObject_t object, float x, float y,                \
                               float z parameters) {                                               \
        *to = kerneltk::textures::sample_cube<T>(#name, object, x, y, z layer);                    \
    }
KERNELTK_CUBE(texCubemap, , )
KERNELTK_CUBE(texCubemapLod, KERNELTK_LIST(, float), )
KERNELTK_CUBE(texCubemapGrad, KERNELTK_LIST(, float4, float4), )
KERNELTK_CUBE(texCubemapLayered, KERNELTK_LIST(, int layer), KERNELTK_LIST(, &layer))
KERNELTK_CUBE(texCubemapLayeredLod, KERNELTK_LIST(, int layer, float), KERNELTK_LIST(, &layer))
KERNELTK_CUBE(texCubemapLayeredGrad, KERNELTK_LIST(, int layer, float4, float4),
              KERNELTK_LIST(, &layer))
#undef KERNELTK_CUBE

#define KERNELTK_FETCH(name, work, parameters, given)                                             \
    template <class T>                                                                             \
    KERNELTK_TEXTURE T name(cudaTextureObject_t object, parameters) {                              \
        return kerneltk::textures::work<T>(#name, object, given);                                  \
    }                                                                                              \
    template <class T>                                                                             \
    KERNELTK_TEXTURE void name(T* to, cudaTextureObject_t object, parameters) {                    \
        *to = name<T>(object, given);                                                              \
    }
KERNELTK_FETCH(tex1Dfetch, fetch, int x, x)
KERNELTK_FETCH(tex2Dgather, gather, KERNELTK_LIST(float x, float y, int channel = 0),
               KERNELTK_LIST(x, y, channel))
#undef KERNELTK_FETCH

#define KERNELTK_SURFACE(name, coordinates, at, layer)                                             \
    template <class T>                                                                             \
    KERNELTK_TEXTURE T name##read(cudaSurfaceObject_t object, coordinates,                         \
                                  cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {           \
        const int place[] = {at};                                                                  \
        return kerneltk::textures::loaded<T>(                                                      \
            kerneltk::textures::at_surface<T>(#name "read", object, place, mode layer));           \
    }                                                                                              \
    template <class T>                                                                             \
    KERNELTK_TEXTURE void name##read(T* to, cudaSurfaceObject_t object, coordinates,               \
                                     cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {        \
        const int place[] = {at};                                                                  \
        *to = kerneltk::textures::loaded<T>(                                                       \
            kerneltk::textures::at_surface<T>(#name "read", object, place, mode layer));           \
    }                                                                                              \
    template <class T>                                                                             \
    KERNELTK_TEXTURE void name##write(T value, cudaSurfaceObject_t object, coordinates,            \
                                      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {       \
        const int place[] = {at};                                                                  \
        kerneltk::textures::store<T>(                                                              \
            kerneltk::textures::at_surface<T>(#name "write", object, place, mode layer), value);   \
    }
KERNELTK_SURFACE(surf1D, KERNELTK_LIST(int x), x, )
KERNELTK_SURFACE(surf2D, KERNELTK_LIST(int x, int y), KERNELTK_LIST(x, y), )
KERNELTK_SURFACE(surf3D, KERNELTK_LIST(int x, int y, int z), KERNELTK_LIST(x, y, z), )
KERNELTK_SURFACE(surf1DLayered, KERNELTK_LIST(int x, int layer), x, KERNELTK_LIST(, &layer))
KERNELTK_SURFACE(surf2DLayered, KERNELTK_LIST(int x, int y, int layer), KERNELTK_LIST(x, y),
                 KERNELTK_LIST(, &layer))
KERNELTK_SURFACE(surfCubemap, KERNELTK_LIST(int x, int y, int face), KERNELTK_LIST(x, y),
                 KERNELTK_LIST(, &face, 1))
KERNELTK_SURFACE(surfCubemapLayered, KERNELTK_LIST(int x, int y, int face), KERNELTK_LIST(x, y),
                 KERNELTK_LIST(, &face, 2))
#undef KERNELTK_SURFACE
#undef KERNELTK_LIST
#undef KERNELTK_TEXTURE

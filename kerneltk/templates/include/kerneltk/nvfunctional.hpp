// CUDA's polymorphic function wrapper for device code. What it calls is on the device's heap.
#pragma once

namespace nvstd {

template <class> class function;

template <class R, class... A>
class function<R(A...)> {
    struct target {
        virtual __device__ R call(A... values) = 0;
        virtual __device__ target* copy() const = 0;
        virtual __device__ ~target() {}
    };
    template <class F>
    struct holder : target {
        F f;
        __device__ holder(const F& given) : f(given) {}
        __device__ R call(A... values) override { return f(static_cast<A&&>(values)...); }
        __device__ target* copy() const override { return new holder(f); }
    };
    target* held = nullptr;

public:
    using result_type = R;
    __device__ function() {}
    __device__ function(decltype(nullptr)) {}
    __device__ function(const function& other) : held(other ? other.held->copy() : nullptr) {}
    __device__ function(function&& other) : held(other.held) { other.held = nullptr; }
    template <class F>
    __device__ function(F f) : held(new holder<F>(f)) {}
    __device__ ~function() { delete held; }
    __device__ function& operator=(function other) {
        swap(other);
        return *this;
    }
    __device__ void swap(function& other) {
        target* const own = held;
        held = other.held;
        other.held = own;
    }
    __device__ explicit operator bool() const { return held != nullptr; }
    __device__ R operator()(A... values) const {
        if (held == nullptr) __trap();
        return held->call(static_cast<A&&>(values)...);
    }
};

template <class F>
__device__ bool operator==(const function<F>& f, decltype(nullptr)) { return !f; }
template <class F>
__device__ bool operator!=(const function<F>& f, decltype(nullptr)) { return static_cast<bool>(f); }

}  // namespace nvstd

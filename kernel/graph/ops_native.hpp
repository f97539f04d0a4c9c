// What the native operators share: typed access to unboxed inputs, and arithmetic that says when
// it does not fit.
//
// A node is evaluated whenever one of its inputs ticked. It does nothing until all of them are
// valid, writes its result otherwise, and never allocates.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "graph/graph.hpp"

namespace mainspring::graph::ops {

using Int = std::int64_t;
using Real = double;

template <class T>
struct Cell;
template <>
struct Cell<bool> {
    static bool get(const Raw& raw) { return raw.b; }
    static void set(ScalarOut& out, bool value, Time now) { out.set_bool(value, now); }
};
template <>
struct Cell<Int> {
    static Int get(const Raw& raw) { return raw.i; }
    static void set(ScalarOut& out, Int value, Time now) { out.set_int(value, now); }
};
template <>
struct Cell<Real> {
    static Real get(const Raw& raw) { return raw.f; }
    static void set(ScalarOut& out, Real value, Time now) { out.set_real(value, now); }
};

// How an operator is written in messages; each operation has one as `name`.
[[noreturn]] inline void overflow(const char* name) {
    throw EngineError(EngineError::What::overflow,
                      std::string(name) + ": the result does not fit a 64-bit int");
}
[[noreturn]] inline void division_by_zero(const char* name) {
    throw EngineError(EngineError::What::zero_division, std::string(name) + ": division by zero");
}
[[noreturn]] inline void refuse(const std::string& message) {
    throw EngineError(EngineError::What::value, message);
}

inline Int add(Int a, Int b, const char* name = "add_") {
    Int result;
    if (__builtin_add_overflow(a, b, &result)) overflow(name);
    return result;
}
inline Int subtract(Int a, Int b, const char* name = "sub_") {
    Int result;
    if (__builtin_sub_overflow(a, b, &result)) overflow(name);
    return result;
}
inline Int multiply(Int a, Int b, const char* name = "mul_") {
    Int result;
    if (__builtin_mul_overflow(a, b, &result)) overflow(name);
    return result;
}
inline Real add(Real a, Real b, const char* = "") { return a + b; }
inline Real subtract(Real a, Real b, const char* = "") { return a - b; }
inline Real multiply(Real a, Real b, const char* = "") { return a * b; }

// Toward negative infinity, as Python's // and % go.
inline Int floor_divide(Int a, Int b, const char* name) {
    if (b == 0) division_by_zero(name);
    if (b == -1) return subtract(0, a, name);
    const Int quotient = a / b;
    return (a % b != 0 && ((a < 0) != (b < 0))) ? quotient - 1 : quotient;
}
inline Int floor_modulo(Int a, Int b, const char* name) {
    if (b == 0) division_by_zero(name);
    if (b == -1) return 0;
    const Int rest = a % b;
    return (rest != 0 && ((rest < 0) != (b < 0))) ? rest + b : rest;
}
inline Real floor_modulo(Real a, Real b, const char* name) {
    if (b == 0.0) division_by_zero(name);
    Real rest = std::fmod(a, b);
    if (rest != 0.0) {
        if ((b < 0.0) != (rest < 0.0)) rest += b;
    } else {
        rest = std::copysign(0.0, b);
    }
    return rest;
}
inline Real floor_divide(Real a, Real b, const char* name) {
    if (b == 0.0) division_by_zero(name);
    return std::floor(a / b);
}

// A node with one input.
template <class In, class Result, class F>
class Unary final : public NativeNode<1> {
public:
    void eval(Time now) override {
        if (!valid(0)) return;
        Cell<Result>::set(result(), static_cast<Result>(F::apply(Cell<In>::get(at(0).raw))), now);
    }
};

// A node with two inputs that waits for both.
template <class L, class R, class Result, class F>
class Binary final : public NativeNode<2> {
public:
    void eval(Time now) override {
        if (!valid(0) || !valid(1)) return;
        Cell<Result>::set(
            result(),
            static_cast<Result>(F::apply(Cell<L>::get(at(0).raw), Cell<R>::get(at(1).raw))), now);
    }
};

}  // namespace mainspring::graph::ops

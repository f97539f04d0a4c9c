// Arithmetic and bits on unboxed operands.
//
// An int result that does not fit 64 bits is an error and never wraps. A zero divisor does what
// the node was wired with (parameter 0, in the order of `DivideByZero`): an error by default.
#include "graph/ops_native.hpp"

namespace mainspring::graph {
namespace {

using namespace ops;

struct Add {
    template <class L, class R>
    static auto apply(L a, R b) {
        using T = std::common_type_t<L, R>;
        return add(static_cast<T>(a), static_cast<T>(b), "add_");
    }
};
struct Subtract {
    template <class L, class R>
    static auto apply(L a, R b) {
        using T = std::common_type_t<L, R>;
        return subtract(static_cast<T>(a), static_cast<T>(b), "sub_");
    }
};
struct Multiply {
    template <class L, class R>
    static auto apply(L a, R b) {
        using T = std::common_type_t<L, R>;
        return multiply(static_cast<T>(a), static_cast<T>(b), "mul_");
    }
};
struct Mean {
    template <class L, class R>
    static Real apply(L a, R b) {
        return (static_cast<Real>(a) + static_cast<Real>(b)) / 2.0;
    }
};

// What happens on a zero divisor; the numbers are those of `DivideByZero`.
enum class ByZero : std::uint8_t { error, nan, infinity, nothing, zero, one };

// The value for a zero divisor; false when there is to be no tick. `whole` says that zero and one
// are values the operation gives: a remainder, or an int power, has none.
bool by_zero(ByZero rule, const char* name, bool whole, Real& value) {
    if (!whole && (rule == ByZero::zero || rule == ByZero::one)) division_by_zero(name);
    switch (rule) {
        case ByZero::nan:
            value = std::numeric_limits<Real>::quiet_NaN();
            return true;
        case ByZero::infinity:
            value = std::numeric_limits<Real>::infinity();
            return true;
        case ByZero::zero:
            value = 0.0;
            return true;
        case ByZero::one:
            value = 1.0;
            return true;
        case ByZero::nothing:
            return false;
        case ByZero::error:
            break;
    }
    division_by_zero(name);
}
bool by_zero(ByZero rule, const char* name, bool whole, Int& value) {
    if (!whole && (rule == ByZero::zero || rule == ByZero::one)) division_by_zero(name);
    switch (rule) {
        case ByZero::zero:
            value = 0;
            return true;
        case ByZero::one:
            value = 1;
            return true;
        case ByZero::nothing:
            return false;
        default:
            division_by_zero(name);
    }
}

struct Divide {
    static constexpr const char* name = "div_";
    template <class>
    static constexpr bool whole = true;
    template <class T>
    static bool undefined(T, T b) {
        return b == T{};
    }
    static Real apply(Real a, Real b) { return a / b; }
};
struct FloorDivide {
    static constexpr const char* name = "floordiv_";
    template <class>
    static constexpr bool whole = true;
    template <class T>
    static bool undefined(T, T b) {
        return b == T{};
    }
    template <class T>
    static T apply(T a, T b) {
        return floor_divide(a, b, name);
    }
};
struct Modulo {
    static constexpr const char* name = "mod_";
    template <class>
    static constexpr bool whole = false;
    template <class T>
    static bool undefined(T, T b) {
        return b == T{};
    }
    template <class T>
    static T apply(T a, T b) {
        return floor_modulo(a, b, name);
    }
};
struct Power {
    static constexpr const char* name = "pow_";
    template <class Result>
    static constexpr bool whole = std::is_same_v<Result, Real>;
    template <class T>
    static bool undefined(T a, T b) {
        return a == T{} && b < T{};
    }
    static Real apply(Real a, Real b) { return std::pow(a, b); }
    static Int apply(Int base, Int exponent) {
        if (exponent < 0) refuse("pow_: a negative exponent has no int result; use floats");
        Int result = 1;
        for (;;) {
            if ((exponent & 1) != 0) result = multiply(result, base, name);
            exponent >>= 1;
            if (exponent == 0) return result;
            base = multiply(base, base, name);
        }
    }
};

// `T` is what both operands are taken as.
template <class L, class R, class T, class Result, class F>
class Division final : public NativeNode<2> {
public:
    void eval(Time now) override {
        if (!valid(0) || !valid(1)) return;
        const T a = static_cast<T>(Cell<L>::get(at(0).raw));
        const T b = static_cast<T>(Cell<R>::get(at(1).raw));
        if (F::undefined(a, b)) [[unlikely]] {
            const auto rule = static_cast<ByZero>(spec->params.empty() ? 0 : spec->params[0].raw.i);
            Result value{};
            if (by_zero(rule, F::name, F::template whole<Result>, value)) Cell<Result>::set(result(), value, now);
            return;
        }
        Cell<Result>::set(result(), static_cast<Result>(F::apply(a, b)), now);
    }
};

// Quotient and remainder together, into a list of two.
template <class L, class R, class T>
class DivMod final : public NativeNode<2> {
public:
    void eval(Time now) override {
        if (!valid(0) || !valid(1)) return;
        const T a = static_cast<T>(Cell<L>::get(at(0).raw));
        const T b = static_cast<T>(Cell<R>::get(at(1).raw));
        auto& parts = static_cast<GroupOut&>(*out).children;
        const T quotient = floor_divide(a, b, "divmod_");
        const T rest = floor_modulo(a, b, "divmod_");
        Cell<T>::set(as_scalar(*parts[0]), quotient, now);
        Cell<T>::set(as_scalar(*parts[1]), rest, now);
    }
};

struct And {
    template <class T>
    static T apply(T a, T b) {
        return static_cast<T>(a & b);
    }
};
struct Or {
    template <class T>
    static T apply(T a, T b) {
        return static_cast<T>(a | b);
    }
};
struct Xor {
    template <class T>
    static T apply(T a, T b) {
        return static_cast<T>(a ^ b);
    }
};
struct ShiftLeft {
    static Int apply(Int a, Int by) {
        if (by < 0) refuse("lshift_: a shift cannot be negative");
        if (a == 0) return 0;
        if (by > 62) overflow("lshift_");
        return multiply(a, Int{1} << by, "lshift_");
    }
};
struct ShiftRight {
    static Int apply(Int a, Int by) {
        if (by < 0) refuse("rshift_: a shift cannot be negative");
        return a >> (by > 63 ? 63 : by);
    }
};

struct Negate {
    static Int apply(Int a) { return subtract(0, a, "neg_"); }
    static Real apply(Real a) { return -a; }
};
struct Same {
    template <class T>
    static T apply(T a) {
        return a;
    }
};
struct Absolute {
    static Int apply(Int a) { return a < 0 ? subtract(0, a, "abs_") : a; }
    static Real apply(Real a) { return std::fabs(a); }
};
struct Invert {
    static Int apply(Int a) { return ~a; }
    static Int apply(bool a) { return ~Int{a}; }
};
// Zero counts as positive.
struct Sign {
    static Int apply(Int a) { return a < 0 ? -1 : 1; }
    static Real apply(Real a) { return a < 0.0 ? -1.0 : 1.0; }
};
struct Logarithm {
    static Real apply(Real a) { return std::log(a); }
};

template <class L, class R, class F>
constexpr Factory binary = make_node<Binary<L, R, std::common_type_t<L, R>, F>>;
template <class L, class R, class F>
constexpr Factory division =
    make_node<Division<L, R, std::common_type_t<L, R>, std::common_type_t<L, R>, F>>;
template <class L, class R>
constexpr Factory true_division = make_node<Division<L, R, Real, Real, Divide>>;
template <class L, class R>
constexpr Factory div_mod = make_node<DivMod<L, R, std::common_type_t<L, R>>>;

#define MAINSPRING_NUMERIC(code, maker, ...)                          \
    {code ":int,int", maker<Int, Int __VA_OPT__(, ) __VA_ARGS__>},     \
        {code ":int,float", maker<Int, Real __VA_OPT__(, ) __VA_ARGS__>}, \
        {code ":float,int", maker<Real, Int __VA_OPT__(, ) __VA_ARGS__>}, \
        {code ":float,float", maker<Real, Real __VA_OPT__(, ) __VA_ARGS__>}

const OpEntry entries[] = {
    MAINSPRING_NUMERIC("add_", binary, Add),
    MAINSPRING_NUMERIC("sub_", binary, Subtract),
    MAINSPRING_NUMERIC("mul_", binary, Multiply),
    MAINSPRING_NUMERIC("div_", true_division),
    MAINSPRING_NUMERIC("floordiv_", division, FloorDivide),
    MAINSPRING_NUMERIC("mod_", division, Modulo),
    MAINSPRING_NUMERIC("pow_", division, Power),
    MAINSPRING_NUMERIC("divmod_", div_mod),
    {"mean:int,int", make_node<Binary<Int, Int, Real, Mean>>},
    {"mean:int,float", make_node<Binary<Int, Real, Real, Mean>>},
    {"mean:float,int", make_node<Binary<Real, Int, Real, Mean>>},
    {"mean:float,float", make_node<Binary<Real, Real, Real, Mean>>},
    {"bit_and:int,int", binary<Int, Int, And>},
    {"bit_and:bool,bool", binary<bool, bool, And>},
    {"bit_or:int,int", binary<Int, Int, Or>},
    {"bit_or:bool,bool", binary<bool, bool, Or>},
    {"bit_xor:int,int", binary<Int, Int, Xor>},
    {"bit_xor:bool,bool", binary<bool, bool, Xor>},
    {"lshift_:int,int", binary<Int, Int, ShiftLeft>},
    {"rshift_:int,int", binary<Int, Int, ShiftRight>},
    {"neg_:int", make_node<Unary<Int, Int, Negate>>},
    {"neg_:float", make_node<Unary<Real, Real, Negate>>},
    {"pos_:int", make_node<Unary<Int, Int, Same>>},
    {"pos_:float", make_node<Unary<Real, Real, Same>>},
    {"abs_:int", make_node<Unary<Int, Int, Absolute>>},
    {"abs_:float", make_node<Unary<Real, Real, Absolute>>},
    {"invert_:int", make_node<Unary<Int, Int, Invert>>},
    {"invert_:bool", make_node<Unary<bool, Int, Invert>>},
    {"sign:int", make_node<Unary<Int, Int, Sign>>},
    {"sign:float", make_node<Unary<Real, Real, Sign>>},
    {"ln:float", make_node<Unary<Real, Real, Logarithm>>},
};

}  // namespace
}  // namespace mainspring::graph

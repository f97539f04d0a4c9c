// Comparison, truth and the choice of the lesser or greater, on unboxed operands.
#include "graph/ops_native.hpp"

namespace mainspring::graph {
namespace {

using namespace ops;

// An int and a float are compared as floats.
template <class F>
struct Compare {
    template <class L, class R>
    static bool apply(L a, R b) {
        using T = std::common_type_t<L, R>;
        return F::of(static_cast<T>(a), static_cast<T>(b));
    }
};
struct NotEqual {
    template <class T>
    static bool of(T a, T b) {
        return a != b;
    }
};
struct Equal {
    template <class T>
    static bool of(T a, T b) {
        return a == b;
    }
};
struct Less {
    template <class T>
    static bool of(T a, T b) {
        return a < b;
    }
};
struct LessEqual {
    template <class T>
    static bool of(T a, T b) {
        return a <= b;
    }
};
struct Greater {
    template <class T>
    static bool of(T a, T b) {
        return a > b;
    }
};
struct GreaterEqual {
    template <class T>
    static bool of(T a, T b) {
        return a >= b;
    }
};
struct Both {
    template <class T>
    static bool of(T a, T b) {
        return a != T{} && b != T{};
    }
};
struct Either {
    template <class T>
    static bool of(T a, T b) {
        return a != T{} || b != T{};
    }
};

// Floats are equal when they are no further apart than the tolerance (parameter 0).
template <class L, class R>
class NearlyEqual final : public NativeNode<2> {
public:
    void eval(Time now) override {
        if (!valid(0) || !valid(1)) return;
        const auto a = static_cast<Real>(Cell<L>::get(at(0).raw));
        const auto b = static_cast<Real>(Cell<R>::get(at(1).raw));
        const Real tolerance = spec->params.empty() ? 1e-10 : spec->params[0].raw.f;
        result().set_bool(std::fabs(a - b) <= tolerance, now);
    }
};

// On a tie, and beside a NaN, the left operand wins.
struct Least {
    template <class L, class R>
    static auto apply(L a, R b) {
        using T = std::common_type_t<L, R>;
        return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
    }
};
struct Greatest {
    template <class L, class R>
    static auto apply(L a, R b) {
        using T = std::common_type_t<L, R>;
        return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
    }
};

struct Not {
    template <class T>
    static bool apply(T a) {
        return a == T{};
    }
};

// Any number of bools, of which those not yet valid count as false.
template <bool all>
class Many final : public Node {
public:
    void wire(std::uint32_t i, Out* source) override {
        if (in_.size() <= i) in_.resize(i + std::size_t{1});
        in_[i] = source;
    }
    void eval(Time now) override {
        bool found = false;
        for (Out* source : in_) {
            Out* leads_to = source->resolve();
            const bool value =
                leads_to != nullptr && source->valid() && as_scalar(*leads_to).raw.b;
            if (value != all) {
                found = true;
                break;
            }
        }
        as_scalar(*out).set_bool(found != all, now);
    }

private:
    std::vector<Out*> in_;
};

template <class L, class R, class F>
constexpr Factory compare = make_node<Binary<L, R, bool, Compare<F>>>;
template <class L, class R, class F>
constexpr Factory choose = make_node<Binary<L, R, std::common_type_t<L, R>, F>>;

#define MAINSPRING_NUMERIC(code, maker, ...)            \
    {code ":int,int", maker<Int, Int, __VA_ARGS__>},       \
        {code ":int,float", maker<Int, Real, __VA_ARGS__>},  \
        {code ":float,int", maker<Real, Int, __VA_ARGS__>},  \
        {code ":float,float", maker<Real, Real, __VA_ARGS__>}

const OpEntry entries[] = {
    {"eq_:bool,bool", compare<bool, bool, Equal>},
    {"eq_:int,int", compare<Int, Int, Equal>},
    {"eq_:int,float", make_node<NearlyEqual<Int, Real>>},
    {"eq_:float,int", make_node<NearlyEqual<Real, Int>>},
    {"eq_:float,float", make_node<NearlyEqual<Real, Real>>},
    {"ne_:bool,bool", compare<bool, bool, NotEqual>},
    MAINSPRING_NUMERIC("ne_", compare, NotEqual),
    MAINSPRING_NUMERIC("lt_", compare, Less),
    MAINSPRING_NUMERIC("le_", compare, LessEqual),
    MAINSPRING_NUMERIC("gt_", compare, Greater),
    MAINSPRING_NUMERIC("ge_", compare, GreaterEqual),
    {"and_:bool,bool", compare<bool, bool, Both>},
    MAINSPRING_NUMERIC("and_", compare, Both),
    {"or_:bool,bool", compare<bool, bool, Either>},
    MAINSPRING_NUMERIC("or_", compare, Either),
    {"not_:bool", make_node<Unary<bool, bool, Not>>},
    {"not_:int", make_node<Unary<Int, bool, Not>>},
    {"not_:float", make_node<Unary<Real, bool, Not>>},
    MAINSPRING_NUMERIC("min_", choose, Least),
    MAINSPRING_NUMERIC("max_", choose, Greatest),
    {"all_", make_node<Many<true>>},
    {"any_", make_node<Many<false>>},
};

}  // namespace
}  // namespace mainspring::graph

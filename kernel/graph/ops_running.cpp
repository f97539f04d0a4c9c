// Running statistics: one number in, what has been seen so far out.
//
// What a node has gathered is state: it is saved and put back, field by field.
#include <algorithm>
#include <deque>

#include "graph/ops_native.hpp"

namespace mainspring::graph {
namespace {

using namespace ops;

// Input 1, where there is one, resets whenever it ticks: what was gathered goes before a value of the
// same cycle.
template <class T>
class RunningSum final : public NativeNode<2> {
public:
    void eval(Time now) override {
        const bool reset = in_[1] != nullptr && in_[1]->modified(now);
        if (reset) total_ = T{};
        const bool ticked = modified(0, now) && valid(0);
        if (ticked) total_ = add(total_, Cell<T>::get(at(0).raw), "sum_");
        if (ticked || reset) Cell<T>::set(result(), total_, now);
    }
    void fields(Fields& all) override { all(total_); }

private:
    T total_{};
};

class Count final : public NativeNode<2> {
public:
    void eval(Time now) override {
        if (in_[1] != nullptr && in_[1]->modified(now)) count_ = 0;
        if (modified(0, now)) result().set_int(++count_, now);
    }
    void fields(Fields& all) override { all(count_); }

private:
    Int count_ = 0;
};

template <class T>
class RunningMean final : public NativeNode<1> {
public:
    void eval(Time now) override {
        if (!modified(0, now)) return;
        const auto value = static_cast<Real>(Cell<T>::get(at(0).raw));
        ++count_;
        mean_ += (value - mean_) / static_cast<Real>(count_);
        result().set_real(mean_, now);
    }
    void fields(Fields& all) override { all(mean_, count_); }

private:
    Real mean_ = 0.0;
    Int count_ = 0;
};

// The variance of everything seen (of the population), or its root.
template <class T, bool root>
class RunningSpread final : public NativeNode<1> {
public:
    void eval(Time now) override {
        if (!modified(0, now)) return;
        const auto value = static_cast<Real>(Cell<T>::get(at(0).raw));
        ++count_;
        const Real off = value - mean_;
        mean_ += off / static_cast<Real>(count_);
        squares_ += off * (value - mean_);
        const Real variance = squares_ / static_cast<Real>(count_);
        result().set_real(root ? std::sqrt(variance) : variance, now);
    }
    void fields(Fields& all) override { all(mean_, squares_, count_); }

private:
    Real mean_ = 0.0, squares_ = 0.0;
    Int count_ = 0;
};

// The least or greatest so far; it ticks when there is a new one.
template <class T, bool least>
class RunningBest final : public NativeNode<1> {
public:
    void eval(Time now) override {
        if (!modified(0, now)) return;
        const T value = Cell<T>::get(at(0).raw);
        ScalarOut& best = result();
        if (best.valid()) {
            const T known = Cell<T>::get(best.raw);
            if (least ? !(value < known) : !(known < value)) return;
        }
        Cell<T>::set(best, value, now);
    }
};

template <class T>
class Difference final : public NativeNode<1> {
public:
    void eval(Time now) override {
        if (!modified(0, now)) return;
        const T value = Cell<T>::get(at(0).raw);
        const T before = before_;
        before_ = value;
        if (seen_) Cell<T>::set(result(), subtract(value, before, "diff"), now);
        seen_ = true;
    }
    void fields(Fields& all) override { all(before_, seen_); }

private:
    T before_{};
    bool seen_ = false;
};

// Parameter 0 is the weight of a new value.
class ExponentialMean final : public NativeNode<1> {
public:
    void eval(Time now) override {
        if (!modified(0, now)) return;
        const Real value = f64(0), weight = spec->params[0].raw.f;
        ScalarOut& mean = result();
        mean.set_real(mean.valid() ? weight * value + (1.0 - weight) * mean.raw.f : value, now);
    }
};

template <class T>
class Clip final : public NativeNode<3> {
public:
    void eval(Time now) override {
        if (!valid(0) || !valid(1) || !valid(2)) return;
        const T low = Cell<T>::get(at(1).raw), high = Cell<T>::get(at(2).raw);
        if (high < low) refuse("clip: min must not be greater than max");
        Cell<T>::set(result(), std::clamp(Cell<T>::get(at(0).raw), low, high), now);
    }
};

const OpEntry entries[] = {
    {"running_sum:int", make_node<RunningSum<Int>>},
    {"running_sum:float", make_node<RunningSum<Real>>},
    {"count", make_node<Count>},
    {"running_mean:int", make_node<RunningMean<Int>>},
    {"running_mean:float", make_node<RunningMean<Real>>},
    {"running_var:int", make_node<RunningSpread<Int, false>>},
    {"running_var:float", make_node<RunningSpread<Real, false>>},
    {"running_std:int", make_node<RunningSpread<Int, true>>},
    {"running_std:float", make_node<RunningSpread<Real, true>>},
    {"running_min:int", make_node<RunningBest<Int, true>>},
    {"running_min:float", make_node<RunningBest<Real, true>>},
    {"running_max:int", make_node<RunningBest<Int, false>>},
    {"running_max:float", make_node<RunningBest<Real, false>>},
    {"diff:int", make_node<Difference<Int>>},
    {"diff:float", make_node<Difference<Real>>},
    {"ewma:float", make_node<ExponentialMean>},
    {"clip:int", make_node<Clip<Int>>},
    {"clip:float", make_node<Clip<Real>>},
};

}  // namespace
}  // namespace mainspring::graph

// Ticks let through, held back or chosen, for scalars of any kind, and choices between whole time
// series, which bind a link instead of copying.
#include <algorithm>
#include <deque>

#include "graph/ops_native.hpp"

namespace mainspring::graph {
namespace {

using namespace ops;

// Write the value of `from` to `to`: unboxed as it is, an object by reference.
void copy(ScalarOut& from, ScalarOut& to, Time now) {
    switch (to.type->scalar) {
        case Scalar::boolean:
            to.set_bool(from.raw.b, now);
            break;
        case Scalar::integer:
            to.set_int(from.raw.i, now);
            break;
        case Scalar::real:
            to.set_real(from.raw.f, now);
            break;
        default:
            to.set_object(ObjRef(from.boxed), now);
    }
}

bool same(ScalarOut& a, ScalarOut& b) {
    switch (a.type->scalar) {
        case Scalar::boolean:
            return a.raw.b == b.raw.b;
        case Scalar::integer:
            return a.raw.i == b.raw.i;
        case Scalar::real:
            return a.raw.f == b.raw.f;
        default:
            return a.boxed == b.boxed || host.equal(a.boxed, b.boxed);
    }
}

// Let values through while the condition (input 0) holds; when it holds again, the last value
// that was held back.
class Filter final : public NativeNode<2> {
public:
    void eval(Time now) override {
        if (!valid(1)) return;
        if (modified(1, now)) held_ = true;
        if (!held_ || !valid(0) || !b(0)) return;
        held_ = false;
        copy(at(1), result(), now);
    }
    void fields(Fields& all) override { all(held_); }

private:
    bool held_ = false;
};

// The value of input 1 whenever input 0 ticks.
class Sample final : public NativeNode<2> {
public:
    void eval(Time now) override {
        if (valid(1) && modified(0, now)) copy(at(1), result(), now);
    }
};

// Values at the places start, start + step, ... before stop, counted from 0 (parameters 0, 1, 2;
// a negative stop is no stop).
class Slice final : public NativeNode<1> {
public:
    void eval(Time now) override {
        if (!modified(0, now)) return;
        const Int start = spec->params[0].raw.i, stop = spec->params[1].raw.i;
        const Int step = spec->params[2].raw.i, place = seen_;
        if (stop >= 0 && place >= stop) return;
        ++seen_;
        if (place >= start && (place - start) % step == 0) copy(at(0), result(), now);
    }
    void fields(Fields& all) override { all(seen_); }

private:
    Int seen_ = 0;
};

// Values that differ from the one before.
class Distinct final : public NativeNode<1> {
public:
    void eval(Time now) override {
        if (!modified(0, now)) return;
        ScalarOut& last = result();
        if (!last.valid() || !same(at(0), last)) copy(at(0), last, now);
    }
};

// The same of floats, further apart than a tolerance (input 1, if it is wired).
class DistinctReal final : public NativeNode<2> {
public:
    void eval(Time now) override {
        const bool given = in_[1] != nullptr;
        if (!valid(0) || (given ? !valid(1) : !modified(0, now))) return;
        const Real tolerance = given ? f64(1) : 1e-15;
        ScalarOut& last = result();
        if (!last.valid() || !(std::fabs(f64(0) - last.raw.f) < tolerance))
            last.set_real(f64(0), now);
    }
};

// The value of `parameter 0` ticks ago.
class Lag final : public NativeNode<1> {
public:
    void eval(Time now) override {
        if (!modified(0, now)) return;
        ScalarOut& from = at(0);
        ScalarOut& to = result();
        const auto depth = static_cast<std::size_t>(spec->params[0].raw.i);
        kept_.push_back({from.raw, ObjRef(to.type->scalar == Scalar::object ? from.boxed : nullptr)});
        if (kept_.size() <= depth) return;
        Kept oldest = std::move(kept_.front());
        kept_.pop_front();
        switch (to.type->scalar) {
            case Scalar::boolean:
                to.set_bool(oldest.raw.b, now);
                break;
            case Scalar::integer:
                to.set_int(oldest.raw.i, now);
                break;
            case Scalar::real:
                to.set_real(oldest.raw.f, now);
                break;
            default:
                to.set_object(std::move(oldest.object), now);
        }
    }
    void visit(Visitor& visitor) const override {
        for (const Kept& kept : kept_) visitor(kept.object.get());
    }
    void fields(Fields& all) override {
        auto count = static_cast<Int>(kept_.size());
        all(count);
        kept_.resize(static_cast<std::size_t>(count));
        for (Kept& kept : kept_) all.value(out->type->scalar, kept.raw, kept.object);
    }

private:
    struct Kept {
        Raw raw;
        ObjRef object;
    };
    std::deque<Kept> kept_;
};

// True whenever the input ticks true; with parameter 0, only once.
class IfTrue final : public NativeNode<1> {
public:
    void eval(Time now) override {
        if (!modified(0, now) || !b(0)) return;
        if (!spec->params.empty() && spec->params[0].raw.b && result().valid()) return;
        result().set_bool(true, now);
    }
};

// False until the input is true for the first time, true then, and nothing more.
class UntilTrue final : public NativeNode<1> {
public:
    void eval(Time now) override {
        if (!modified(0, now) || (result().valid() && result().raw.b)) return;
        result().set_bool(b(0), now);
    }
};

// The first of the inputs that ticked in this cycle.
class Merge final : public Node {
public:
    void wire(std::uint32_t i, Out* source) override {
        if (in_.size() <= i) in_.resize(i + std::size_t{1});
        in_[i] = source;
    }
    void eval(Time now) override {
        // order: of the arguments
        for (Out* source : in_) {
            Out* from = source->modified(now) ? source->resolve() : nullptr;
            if (from == nullptr || !from->valid()) continue;
            copy(as_scalar(*from), as_scalar(*out), now);
            return;
        }
    }

private:
    std::vector<Out*> in_;
};

// The inputs stay where they are and the output, a link, leads to one of them.
class Choice : public Node {
public:
    void wire(std::uint32_t i, Out* source) override {
        if (in_.size() <= i) in_.resize(i + std::size_t{1});
        in_[i] = source;
    }
    // Which one was chosen does not always follow from what the inputs are now.
    void fields(Fields& all) override { all(chosen_); }
    void rebind(Time now) override {
        static_cast<Link&>(*out).bind(chosen_ == nobody ? nullptr : in_[at(chosen_)], now);
    }

protected:
    static std::size_t at(Int place) { return static_cast<std::size_t>(place); }
    void choose(Int i, Time now) {
        if (chosen_ == i) return;
        chosen_ = i;
        static_cast<Link&>(*out).bind(in_[at(i)], now);
    }
    // The value of input 0 as a place; false while there is none.
    bool place(Int& at) const {
        Out* leads_to = in_[0]->resolve();
        if (leads_to == nullptr || !leads_to->valid()) return false;
        const ScalarOut& value = as_scalar(*leads_to);
        if (value.type->scalar == Scalar::boolean) {
            at = value.raw.b ? 0 : 1;
        } else if (value.raw.i < 0) {
            return false;
        } else {
            at = value.raw.i;
        }
        return true;
    }
    Int count() const { return static_cast<Int>(in_.size()); }

    static constexpr Int nobody = -1;
    std::vector<Out*> in_;
    Int chosen_ = nobody;
};

// Input 0 says which of the others it is: a bool (true is the first) or a place from 0.
class Select final : public Choice {
public:
    void eval(Time now) override {
        Int which = 0;
        if (place(which) && which < count() - 1) choose(which + 1, now);
    }
};

// Does a source have a value? One put together of links has none when each of them lost its own.
bool alive(Out* source) {
    Out* leads_to = source->resolve();
    if (leads_to == nullptr || !leads_to->valid()) return false;
    if (leads_to->kind != Kind::bundle && leads_to->kind != Kind::list) return true;
    const auto& children = static_cast<GroupOut*>(leads_to)->children;
    return std::any_of(children.begin(), children.end(), alive);
}

// The first input to have a value; when it loses it, the first that has one then. The inputs after the
// first `parameter 0` are parts of them, and only say when to look.
class Race final : public Choice {
public:
    void eval(Time now) override {
        if (chosen_ != nobody && alive(in_[at(chosen_)])) return;
        // order: of the arguments
        const Int runners = spec->params[0].raw.i;
        for (Int i = 0; i < runners; ++i) {
            if (!alive(in_[at(i)])) continue;
            choose(i, now);
            return;
        }
    }
};

// Input 0 while it has a value, input 1 otherwise.
class Default final : public Choice {
public:
    void start(Time now) override { graph->engine->schedule(this, now); }
    void eval(Time now) override { choose(in_[0]->valid() ? 0 : 1, now); }
};

// Input 1 at the place in the output, a bundle or list of links, that input 0 says.
class Route final : public Choice {
public:
    std::unique_ptr<Out> make_output() override {
        return std::make_unique<GroupOut>(*spec->out, this, true);
    }
    void eval(Time now) override {
        Int which = 0;
        if (!place(which) || which == chosen_) return;
        lead(nullptr, now);
        chosen_ = which;
        lead(in_[1], now);
    }
    void rebind(Time now) override {
        for (Out* each : static_cast<GroupOut&>(*out).children)
            static_cast<Link&>(*each).bind(nullptr, now);
        lead(in_[1], now);
    }

private:
    // The place chosen, if there is such a one.
    void lead(Out* to, Time now) {
        const auto& places = static_cast<GroupOut&>(*out).children;
        if (chosen_ != nobody && at(chosen_) < places.size())
            static_cast<Link&>(*places[at(chosen_)]).bind(to, now);
    }
};

const OpEntry entries[] = {
    {"filter_", make_node<Filter>},
    {"sample", make_node<Sample>},
    {"slice_", make_node<Slice>},
    {"dedup", make_node<Distinct>},
    {"dedup:float", make_node<DistinctReal>},
    {"lag", make_node<Lag>},
    {"if_true", make_node<IfTrue>},
    {"until_true", make_node<UntilTrue>},
    {"merge", make_node<Merge>},
    {"select", make_node<Select>},
    {"race", make_node<Race>},
    {"default", make_node<Default>},
    {"route", make_node<Route>},
};

}  // namespace
}  // namespace mainspring::graph

// The nodes that wiring itself needs: constants, structures, references, feedback.
#include "graph/graph.hpp"

namespace mainspring::graph {
namespace {

// A constant: params are the value and the delay in nanoseconds.
class ConstNode final : public Node {
public:
    void start(Time now) override {
        const std::int64_t delay = spec->params.size() > 1 ? spec->params[1].raw.i : 0;
        graph->engine->schedule(this, now + delay);
    }
    void eval(Time now) override {
        const Param& value = spec->params[0];
        switch (value.kind) {
            case Scalar::boolean:
                as_scalar(*out).set_bool(value.raw.b, now);
                break;
            case Scalar::integer:
                as_scalar(*out).set_int(value.raw.i, now);
                break;
            case Scalar::real:
                as_scalar(*out).set_real(value.raw.f, now);
                break;
            default:
                host.apply(*out, value.object.get(), now);
        }
    }
};

// A source that never ticks, or a sink that does nothing.
class NothingNode final : public Node {
public:
    void eval(Time) override {}
};

// A bundle or list put together from separate outputs. It is never evaluated: its children are
// links, and they mark it.
class StructNode final : public Node {
public:
    void eval(Time) override {}
    std::unique_ptr<Out> make_output() override {
        return std::make_unique<GroupOut>(*spec->out, this, true);
    }
    void wire(std::uint32_t i, Out* source) override {
        auto* child = static_cast<Link*>(static_cast<GroupOut&>(*out).grow(i));
        child->bind(source, graph->engine->now);
    }
};

// Follows the references in its input: REF[X] becomes X at any depth.
class DerefNode final : public NativeNode<1> {
public:
    std::unique_ptr<Out> make_output() override {
        return build(*spec->inputs[0].type, *spec->out);
    }
    void eval(Time now) override {
        if (Out* source = in_[0]->resolve(); source != nullptr)
            follow(*source, *out, *spec->inputs[0].type, *spec->out, now,
                   first_ || sampled(in_[0], now));
        first_ = false;
    }
    void rebind(Time now) override {
        first_ = true;
        eval(now);
    }

private:
    static bool has_reference(const TsType& type) {
        if (type.kind == Kind::ref) return true;
        if (type.kind == Kind::set) return false;
        for (const auto& child : type.children)
            if (has_reference(*child)) return true;
        return false;
    }

    std::unique_ptr<Out> build(const TsType& from, const TsType& to) {
        if (!has_reference(from) || from.kind == Kind::ref) return std::make_unique<Link>(to, this);
        if (from.kind == Kind::dict) {
            auto dict = std::make_unique<DictOut>(to, this, false);
            const TsType* element = &from.child(0);
            const TsType* target = &to.child(0);
            dict->make_element = [this, element, target] { return build(*element, *target); };
            return dict;
        }
        const std::size_t count =
            from.kind == Kind::bundle ? from.children.size() : std::size_t{from.size};
        std::vector<std::unique_ptr<Out>> parts;
        for (std::uint32_t i = 0; i < count; ++i) parts.push_back(build(from.child(i), to.child(i)));
        return std::make_unique<GroupOut>(to, this, std::move(parts));
    }

    void follow(Out& source, Out& target, const TsType& from, const TsType& to, Time now, bool all) {
        if (from.kind == Kind::ref) {
            if (!all && !source.modified(now)) return;
            Obj* reference = source.valid() ? as_scalar(source).object() : nullptr;
            Out* leads_to = reference == nullptr ? nullptr : host.dereference(reference);
            static_cast<Link&>(target).bind(leads_to, now);
        } else if (!has_reference(from)) {
            if (all) static_cast<Link&>(target).bind(&source, now);
        } else if (from.kind == Kind::dict) {
            follow_dict(static_cast<DictOut&>(source), static_cast<DictOut&>(target), from, to, now,
                        all);
        } else {
            auto& parts = static_cast<GroupOut&>(source).children;
            for (std::uint32_t i = 0; i < parts.size(); ++i) {
                Out* part = parts[i]->resolve();
                if (part != nullptr)
                    follow(*part, *child_at(&target, i), from.child(i), to.child(i), now,
                           all || sampled(parts[i], now));
            }
        }
    }

    void follow_dict(DictOut& source, DictOut& target, const TsType& from, const TsType& to, Time now,
                     bool all) {
        const KeyTable& keys = source.keys();
        if (all) {
            for (std::uint32_t at = 0; at < target.keys().slots(); ++at)
                if (target.keys().live(at) && keys.find(target.keys().key(at)) == none)
                    target.erase_slot(at, now);
            for (std::uint32_t at = 0; at < keys.slots(); ++at)
                if (keys.live(at)) follow_key(source, target, at, from, to, now, true);
            if (source.valid()) target.mark(now);
            return;
        }
        for (const std::uint32_t at : keys.removed(now)) target.erase(keys.key(at), now);
        for (const std::uint32_t at : keys.added(now))
            follow_key(source, target, at, from, to, now, true);
        for (const std::uint32_t at : source.changed(now))
            if (keys.live(at)) follow_key(source, target, at, from, to, now, false);
        if (source.modified(now) && !target.valid()) target.mark(now);
    }

    void follow_key(DictOut& source, DictOut& target, std::uint32_t at, const TsType& from,
                    const TsType& to, Time now, bool all) {
        Out* element = target.create(source.keys().key(at), now);
        Out* part = source.children[at]->resolve();
        if (part != nullptr) follow(*part, *element, from.child(0), to.child(0), now, all);
    }

    bool first_ = true;
};

// The opposite: X becomes REF[X]. It ticks when what the reference leads to changes, not when
// the value does.
class RefNode final : public NativeNode<1> {
public:
    void wire(std::uint32_t i, Out* source) override {
        NativeNode::wire(i, source);
        if (spec->out->kind == Kind::ref) {
            if (source->is_link) static_cast<Link*>(source)->watch_binding(this);
        } else {
            source->subscribe(this);
        }
    }
    void start(Time now) override { graph->engine->schedule(this, now); }
    void eval(Time now) override { refer(in_[0], *out, now); }

private:
    void refer(Out* from, Out& to, Time now) {
        if (to.kind == Kind::ref) {
            Out* leads_to = from->resolve();
            auto& reference = as_scalar(to);
            if (reference.valid() && host.dereference(reference.boxed) == leads_to &&
                leads_to != nullptr)
                return;
            reference.set_object(ObjRef::steal(host.reference(leads_to)), now);
        } else if (to.kind == Kind::dict) {
            auto& target = static_cast<DictOut&>(to);
            auto* source = static_cast<DictOut*>(from->resolve());
            if (source == nullptr) return;
            for (std::uint32_t at = 0; at < target.keys().slots(); ++at)
                if (target.keys().live(at) && source->keys().find(target.keys().key(at)) == none)
                    target.erase_slot(at, now);
            for (std::uint32_t at = 0; at < source->keys().slots(); ++at)
                if (source->keys().live(at))
                    refer(source->children[at], *target.create(source->keys().key(at), now), now);
            if (source->valid() && !to.valid()) to.mark(now);
        } else {
            auto& group = static_cast<GroupOut&>(to);
            for (std::uint32_t i = 0; i < group.children.size(); ++i)
                refer(child_at(from, i), *group.children[i], now);
        }
    }
};

// Its first input where that has a value, else its second.
class OrElse final : public NativeNode<2> {
public:
    std::unique_ptr<Out> make_output() override { return std::make_unique<Link>(*spec->out, this); }
    void eval(Time now) override { choose(now); }
    void rebind(Time now) override { choose(now); }

private:
    void choose(Time now) {
        static_cast<Link&>(*out).bind(valid(0) ? in_[0] : in_[1], now);
    }
};

// Two things combined: the first input, which combines the others, where both of those have a value,
// else the one that has.
class Both final : public NativeNode<3> {
public:
    std::unique_ptr<Out> make_output() override { return std::make_unique<Link>(*spec->out, this); }
    void eval(Time now) override { choose(now); }
    void rebind(Time now) override { choose(now); }

private:
    void choose(Time now) {
        Out* const chosen = !valid(1) ? in_[2] : valid(2) ? in_[0] : in_[1];
        static_cast<Link&>(*out).bind(chosen, now);
    }
};

// By how many of the inputs from the fourth on have a value: the first input for none, the second
// for one, the third for more. An input that is not there stands for nothing.
class ByCount final : public Node {
public:
    std::unique_ptr<Out> make_output() override { return std::make_unique<Link>(*spec->out, this); }
    void wire(std::uint32_t i, Out* source) override {
        if (i < 3)
            choices_[i] = source;
        else
            counted_.push_back(source);
    }
    void start(Time now) override { graph->engine->schedule(this, now); }
    void eval(Time now) override { choose(now); }
    void rebind(Time now) override { choose(now); }

private:
    void choose(Time now) {
        std::size_t count = 0;
        for (const Out* part : counted_)
            if (part->valid() && ++count == 2) break;
        static_cast<Link&>(*out).bind(choices_[count], now);
    }
    Out* choices_[3] = {};
    std::vector<Out*> counted_;
};

// Feedback: what reaches the sink ticks the source in the next cycle.
class FeedbackSource final : public Node {
public:
    void start(Time now) override {
        if (spec->params.empty() || !spec->params[0].object) return;
        pending = spec->params[0].object;
        graph->engine->schedule(this, now);
    }
    void eval(Time now) override {
        if (raw) {
            raw = false;
            auto& scalar = as_scalar(*out);
            switch (out->type->scalar) {
                case Scalar::boolean:
                    scalar.set_bool(value.b, now);
                    break;
                case Scalar::integer:
                    scalar.set_int(value.i, now);
                    break;
                default:
                    scalar.set_real(value.f, now);
            }
            return;
        }
        if (!pending) return;
        const ObjRef delta = std::move(pending);
        pending = ObjRef();
        host.apply(*out, delta.get(), now);
    }
    void visit(Visitor& visitor) const override { visitor(pending.get()); }
    void fields(Fields& all) override {
        all(raw, pending);
        if (raw) all.value(out->type->scalar, value, pending);
    }

    ObjRef pending;
    Raw value{};
    bool raw = false;
};

// Params: the index of the source in the same graph.
class FeedbackSink final : public NativeNode<1> {
public:
    void eval(Time now) override {
        auto& source =
            static_cast<FeedbackSource&>(*graph->nodes[static_cast<std::size_t>(spec->params[0].raw.i)]);
        Out* from = in_[0]->resolve();
        if (from == nullptr || !in_[0]->modified(now)) return;
        if (from->kind == Kind::scalar && from->type->scalar != Scalar::object &&
            from->type->scalar == source.out->type->scalar) {
            source.value = as_scalar(*from).raw;
            source.raw = true;
        } else {
            source.pending = ObjRef::steal(host.delta(*in_[0], now));
        }
        graph->engine->reschedule(&source, now + tick_ns);
    }
};

const OpEntry entries[] = {
    {"const", make_node<ConstNode>},
    {"nothing", make_node<NothingNode>},
    {"null_sink", make_node<NothingNode>},
    {"struct", make_node<StructNode>},
    {"deref", make_node<DerefNode>},
    {"ref", make_node<RefNode>},
    {"or_else", make_node<OrElse>},
    {"both", make_node<Both>},
    {"by_count", make_node<ByCount>},
    {"feedback_source", make_node<FeedbackSource>},
    {"feedback_sink", make_node<FeedbackSink>},
};

}  // namespace
}  // namespace mainspring::graph

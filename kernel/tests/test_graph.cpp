// The engine without Python: order of evaluation, times, notification once for each time.
#include <string>
#include <vector>

#include "check.hpp"
#include "graph/graph.hpp"

using namespace mainspring::graph;

namespace {

std::vector<std::string> order;

void retain(Obj*) {}
void release(Obj*) {}

// Ticks 1, 2, 3, ..., two cycles apart.
class Counter final : public Node {
public:
    void start(Time now) override { graph->engine->schedule(this, now); }
    void eval(Time now) override {
        as_scalar(*out).set_int(++count_, now);
        order.push_back("counter");
        if (count_ < 3) graph->engine->schedule(this, now + 2 * tick_ns);
    }

private:
    std::int64_t count_ = 0;
};

class Sum final : public NativeNode<2> {
public:
    void eval(Time now) override {
        order.push_back("sum");
        if (valid(0) && valid(1)) result().set_int(i64(0) + i64(1), now);
    }
};

NodeSpec spec(const char* name, Factory make, const TypeRef& type,
              const std::vector<std::uint32_t>& sources) {
    NodeSpec made;
    made.name = name;
    made.make = make;
    made.out = type;
    for (const std::uint32_t source : sources) {
        InputSpec input;
        input.source = source;
        input.type = type;
        made.inputs.push_back(input);
    }
    return made;
}

}  // namespace

int main() {
    host.retain = retain;
    host.release = release;
    auto type = std::make_shared<TsType>();
    type->scalar = Scalar::integer;
    auto source = std::make_shared<Template>();
    source->name = "test";
    source->nodes.push_back(spec("counter", make_node<Counter>, type, {}));
    source->nodes.push_back(spec("sum", make_node<Sum>, type, {0, 0}));
    source->nodes.push_back(spec("sum", make_node<Sum>, type, {0, 1}));
    Engine engine(source);
    engine.start(tick_ns);
    std::vector<Time> times;
    while (engine.next_time() != forever) {
        times.push_back(engine.next_time());
        engine.cycle(engine.next_time());
    }
    CHECK((times == std::vector<Time>{tick_ns, 3 * tick_ns, 5 * tick_ns}));
    // order: rank; a node whose two inputs ticked is evaluated once
    CHECK(order.size() == 9);
    for (std::size_t i = 0; i < order.size(); i += 3) {
        CHECK(order[i] == "counter");
        CHECK(order[i + 1] == "sum");
        CHECK(order[i + 2] == "sum");
    }
    CHECK(as_scalar(*engine.root->nodes[2]->out).raw.i == 9);
    CHECK(engine.root->nodes[2]->out->last_modified == 5 * tick_ns);
    CHECK(engine.cycles == 3);
    engine.reschedule(engine.root->nodes[0], 9 * tick_ns);
    CHECK(engine.next_time() == 9 * tick_ns);
    engine.reschedule(engine.root->nodes[0], forever);
    CHECK(engine.next_time() == forever);
    engine.stop();
    engine.dispose();
    return 0;
}

// The engine without Python: order of evaluation, times, notification once for each time.
#include <array>
#include <set>
#include <stdexcept>
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

NodeSpec spec(const char* name, Factory kind, const TypeRef& type,
              const std::vector<std::uint32_t>& sources) {
    NodeSpec made;
    made.name = name;
    made.kind = kind;
    made.out = type;
    for (const std::uint32_t source : sources) {
        InputSpec input;
        input.source = source;
        input.type = type;
        made.inputs.push_back(input);
    }
    return made;
}

// Notes its turn, then makes others ready, or fails.
std::vector<std::uint32_t> turns;
class Turn final : public Node {
public:
    void eval(Time) override {
        turns.push_back(index);
        for (const std::uint32_t other : then) graph->schedule(other);
        if (fails) throw std::runtime_error("it was asked to");
    }
    std::vector<std::uint32_t> then;
    bool fails = false;
};

// Whatever is made ready, however far apart and whenever, has its turn once and in order.
void ready_set_in_order(std::uint32_t count) {
    auto source = std::make_shared<Template>();
    for (std::uint32_t i = 0; i < count; ++i) source->nodes.push_back(spec("turn", make_node<Turn>, nullptr, {}));
    Engine engine(source);
    Graph& graph = *engine.root;
    const auto turn = [&](std::uint32_t at) -> Turn& { return static_cast<Turn&>(*graph.nodes[at]); };
    engine.start(tick_ns);
    Time now = tick_ns;
    CHECK(engine.next_time() == forever);
    std::uint32_t random = 1;
    for (int round = 0; round < 50; ++round) {
        std::vector<bool> wanted(count, false);
        for (std::uint32_t i = 0; i < 40; ++i) {
            random = random * 1664525U + 1013904223U;
            const std::uint32_t at = (random >> 8U) % count;
            wanted[at] = true;
            graph.schedule(at);
        }
        turns.clear();
        engine.cycle(now += tick_ns);
        std::vector<std::uint32_t> expected;
        for (std::uint32_t at = 0; at < count; ++at)
            if (wanted[at]) expected.push_back(at);
        CHECK(turns == expected);
        CHECK(engine.next_time() == forever);
    }
    // the next one, one far ahead, itself and one behind: the last two have their turn in the next cycle
    const std::uint32_t middle = count / 2, last = count - 1;
    turn(middle).then = {last, middle + 1, middle, 0, last};
    graph.schedule(middle);
    turns.clear();
    engine.cycle(now += tick_ns);
    CHECK((turns == std::vector<std::uint32_t>{middle, middle + 1, last}));
    CHECK(engine.next_time() == now + tick_ns);
    turn(middle).then.clear();
    turns.clear();
    engine.cycle(now += tick_ns);
    CHECK((turns == std::vector<std::uint32_t>{0, middle}));
    // after a failure nothing is left over
    turn(middle).fails = true;
    for (const std::uint32_t at : {0U, middle, last}) graph.schedule(at);
    turns.clear();
    bool failed = false;
    try {
        engine.cycle(now += tick_ns);
    } catch (const std::runtime_error&) {
        failed = true;
    }
    CHECK(failed);
    CHECK((turns == std::vector<std::uint32_t>{0, middle}));
    CHECK(!graph.evaluating());
    CHECK(engine.next_time() == forever);
    turns.clear();
    graph.schedule(last);
    engine.cycle(now += tick_ns);
    CHECK((turns == std::vector<std::uint32_t>{last}));
    engine.stop();
}

// Nodes that make others ready while they are evaluated, against a sorted set: in the same cycle what
// stands further on, in the next one what was passed.
void ready_while_evaluating(std::uint32_t count) {
    auto source = std::make_shared<Template>();
    for (std::uint32_t i = 0; i < count; ++i) source->nodes.push_back(spec("turn", make_node<Turn>, nullptr, {}));
    Engine engine(source);
    Graph& graph = *engine.root;
    const auto turn = [&](std::uint32_t at) -> Turn& { return static_cast<Turn&>(*graph.nodes[at]); };
    std::uint32_t random = 7;
    const auto any = [&] {
        random = random * 1664525U + 1013904223U;
        return (random >> 8U) % count;
    };
    for (std::uint32_t i = 0; i < count; ++i) {
        // a constant distance, a near one, and anything
        if (i % 3 != 0 && i + 5 < count) turn(i).then.push_back(i + 5);
        if (i % 4 == 0 && i + 2 < count) turn(i).then.push_back(i + 2);
        if (any() % 16 == 0) turn(i).then.push_back(any());
    }
    engine.start(tick_ns);
    std::set<std::uint32_t> later;
    Time now = tick_ns;
    for (int round = 0; round < 200; ++round) {
        std::set<std::uint32_t> ready = std::exchange(later, {});
        for (std::uint32_t i = 0, start = any() % 4; i < start; ++i) {
            const std::uint32_t at = any();
            ready.insert(at);
            graph.schedule(at);
        }
        if (ready.empty()) continue;
        std::vector<std::uint32_t> expected;
        while (!ready.empty()) {
            const std::uint32_t at = *ready.begin();
            ready.erase(ready.begin());
            expected.push_back(at);
            for (const std::uint32_t other : turn(at).then) (other > at ? ready : later).insert(other);
        }
        turns.clear();
        engine.cycle(now += tick_ns);
        CHECK(turns == expected);
        CHECK(engine.next_time() == (later.empty() ? forever : now + tick_ns));
    }
    engine.stop();
}

// A graph of which one node cannot be made leaves nothing behind (the sanitizer would tell).
class Refuses final : public NativeNode<2> {
public:
    void eval(Time) override {}
    void wire(std::uint32_t i, Out*) override {
        if (i == 1) throw std::runtime_error("it was asked to");
    }
};
void half_a_graph_is_none() {
    auto type = std::make_shared<TsType>();
    type->scalar = Scalar::integer;
    auto source = std::make_shared<Template>();
    source->nodes.push_back(spec("counter", make_node<Counter>, type, {}));
    source->nodes.back().is_push = true;
    source->nodes.push_back(spec("refuses", make_node<Refuses>, type, {0, 0}));
    source->nodes.push_back(spec("sum", make_node<Sum>, type, {0, 1}));
    bool refused = false;
    try {
        const Engine engine(source);
    } catch (const std::runtime_error&) {
        refused = true;
    }
    CHECK(refused);
}

// Keys that come and go within a cycle and across them, against a plain list: what is there, what came
// and what went since the cycle began, with slots that stay while they can be looked at.
void keys_come_and_go() {
    constexpr std::size_t count = 12;
    std::array<std::uint64_t, count> things{};
    const auto key = [&](std::size_t i) { return reinterpret_cast<Obj*>(&things[i]); };
    const auto number = [&](const Obj* of) {
        return static_cast<std::size_t>(reinterpret_cast<const std::uint64_t*>(of) - things.data());
    };
    const auto numbers = [&](const KeyTable& table, const std::vector<std::uint32_t>& slots) {
        std::set<std::size_t> all;
        for (const std::uint32_t slot : slots) all.insert(number(table.key(slot)));
        CHECK(all.size() == slots.size());
        return all;
    };
    KeyTable table;
    std::set<std::size_t> there;
    std::uint32_t random = 3;
    for (Time now = 1; now < 3000; ++now) {
        const std::set<std::size_t> before = there;
        for (Time left = now % 9 * (now % 3); left > 0; --left) {
            random = random * 1664525U + 1013904223U;
            const std::size_t i = (random >> 8U) % count;
            bool fresh = false;
            if ((random >> 20U) % 2 == 0) {
                const std::uint32_t slot = table.insert(key(i), now, fresh);
                CHECK(fresh == there.insert(i).second);
                CHECK(table.key(slot) == key(i));
            } else if (const std::uint32_t slot = table.find(key(i)); slot != none) {
                CHECK(there.erase(i) == 1);
                table.erase(slot, now);
                CHECK(table.was_removed(slot, now) == before.contains(i));
            } else {
                CHECK(!there.contains(i));
            }
            if (random % 5 != 0) continue;
            std::set<std::size_t> came, went;
            for (const std::size_t each : there)
                if (!before.contains(each)) came.insert(each);
            for (const std::size_t each : before)
                if (!there.contains(each)) went.insert(each);
            CHECK(numbers(table, table.added(now)) == came);
            CHECK(numbers(table, table.removed(now)) == went);
            CHECK(table.size() == there.size());
        }
        if (table.needs_sweep()) table.sweep([](std::uint32_t) {});
        CHECK(table.removed(now).empty());
        CHECK(table.added(now + 1).empty());
    }
}

// An output with no reader, one and many, as readers come and go.
void subscribers_come_and_go() {
    Subscribers readers;
    CHECK(readers.sole() == 0 && readers.size() == 0);
    readers.add(8);
    CHECK(readers.sole() == 8);
    readers.remove(8);
    CHECK(readers.sole() == 0 && readers.size() == 0);
    for (const Subscribers::Entry entry : {8U, 16U, 24U, 32U, 40U}) readers.add(entry);
    CHECK(readers.sole() == 0);
    readers.remove(24);
    CHECK((std::vector<Subscribers::Entry>(readers.begin(), readers.end()) ==
           std::vector<Subscribers::Entry>{8, 16, 32, 40}));
    for (const Subscribers::Entry entry : {8U, 16U, 32U, 40U}) readers.remove(entry);
    CHECK(readers.size() == 0 && readers.sole() == 0);
}

}  // namespace

int main() {
    host.retain = retain;
    host.release = release;
    host.equal = [](Obj* a, Obj* b) { return a == b; };
    host.hash = [](Obj* object) { return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(object)); };
    keys_come_and_go();
    subscribers_come_and_go();
    half_a_graph_is_none();
    for (const std::uint32_t count : {30U, 64U, 65U, 700U, 20'000U}) ready_while_evaluating(count);
    // one word, several, several summaries, several of those above
    for (const std::uint32_t count : {40U, 64U, 1000U, 5000U, 300'000U}) ready_set_in_order(count);
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

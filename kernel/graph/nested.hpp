// What wiring tells the nodes with graphs inside about their inputs.
#pragma once

#include "graph/types.hpp"

namespace mainspring::graph {

struct MapPlan final : Plan {
    enum class Role : std::uint8_t { whole, each, each_no_key, keys };
    struct Input {
        Role role = Role::whole;
        std::uint32_t stub = none;  // which stub of the nested graph it feeds
        bool counts = false;        // its keys are keys of the map
    };
    std::vector<Input> inputs;
    std::uint32_t key_stub = none;
    TypeRef key_set;
};

struct SwitchPlan final : Plan {
    struct Case {
        std::vector<std::uint32_t> stubs;  // for each input after the key
        std::uint32_t key_stub = none;
    };
    std::vector<std::pair<ObjRef, std::uint32_t>> cases;  // key value, index of its template
    std::vector<Case> wiring;                             // for each template
    std::uint32_t otherwise = none;
    bool reload = false;
    void visit(Visitor& visitor) const override {
        for (const auto& [value, place] : cases) visitor(value.get());
    }
};

struct BoxPlan final : Plan {
    bool catches = false;
    std::uint32_t out_field = none;  // where the result goes in the output bundle
};

struct ReducePlan final : Plan {
    bool has_zero = false;
    bool zero_waits = true;  // the zero shows only once the collection is valid
};

}  // namespace mainspring::graph

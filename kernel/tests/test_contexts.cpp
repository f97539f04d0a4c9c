// Which thread am I on, asked by many threads while start-up happens. Run under TSan.
#include <atomic>
#include <thread>
#include <vector>

#include "check.hpp"
#include "threads/contexts.hpp"

namespace threads = mainspring::threads;

int main() {
    constexpr unsigned long main_id = 1000;
    CHECK(!threads::is_main(main_id));  // nobody is the main thread before start-up
    CHECK(threads::current(main_id) == 0);  // and a thread that said nothing is nothing

    std::atomic<int> wrong{0};
    std::vector<std::thread> others;
    for (unsigned long id = 1; id <= 4; ++id) {
        others.emplace_back([id, &wrong] {
            const auto mine = static_cast<threads::ContextMask>(1U << id);
            for (int round = 0; round < 10'000; ++round) {
                threads::declared = mine;
                if (threads::is_main(id) || threads::current(id) != mine) {
                    wrong.fetch_add(1);
                }
                threads::declared = 0;
            }
        });
    }
    for (int round = 0; round < 10'000; ++round) {
        threads::main_ident.store(round % 2 == 0 ? main_id : 0, std::memory_order_relaxed);
        threads::declared = threads::kRender;
    }
    for (std::thread& other : others) {
        other.join();
    }
    CHECK(wrong.load() == 0);  // what a thread declares is its own

    threads::main_ident.store(main_id);
    CHECK(threads::is_main(main_id));  // the recorded thread is the main one
    CHECK(threads::current(main_id) == (threads::kMain | threads::kRender));  // and what it declares
    CHECK(!threads::is_main(main_id + 1));  // and no other
    return 0;
}

// Views: how a node's function sees its inputs and output.
//
// One type serves every kind of time series; a method that a kind does not have says so. The two
// subtypes exist for speed and for attributes: `value` of a scalar input is a plain member that
// the node fills in before its function is called, and fields of a bundle are attributes.
//
// A view is good during the call it was made for. Kept longer it stays safe: what it showed may be
// gone, and it then reads as not valid.
#include "graph/py_object.hpp"

#include <structmember.h>

#include <algorithm>
#include <array>

namespace mainspring::graph::py {

PyTypeObject* view_type = nullptr;
PyTypeObject* scalar_view_type = nullptr;
PyTypeObject* bundle_view_type = nullptr;

namespace {

View* as_view(PyObject* self) { return reinterpret_cast<View*>(self); }

Time now_of(const Out& out) { return out.owner->graph->engine->now; }

// Turns C++ failures into Python's null result.
template <class F>
PyObject* guard(F body) {
    try {
        return body();
    } catch (const HostError&) {
        return nullptr;
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
        return nullptr;
    }
}

int view_traverse(PyObject* self, visitproc visit, void* arg) {
    View* view = as_view(self);
    Py_VISIT(view->value);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

int view_clear(PyObject* self) {
    Py_CLEAR(as_view(self)->value);
    return 0;
}

// Views come and go with every look at a collection. The last ones are kept to be used again: making
// one then costs no memory and does not bring the collector's next run nearer.
constexpr std::size_t most_spare = 1024;
std::array<View*, most_spare> spare;
std::size_t spare_count = 0;

View* allocate_view(PyTypeObject* type) {
    if (spare_count == 0) return PyObject_GC_New(View, type);
    View* view = spare[--spare_count];
    PyObject_Init(reinterpret_cast<PyObject*>(view), type);
    return view;
}

void view_dealloc(PyObject* self) {
    View* view = as_view(self);
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(view->value);
    Py_CLEAR(view->modified);
    Py_CLEAR(view->valid);
    Handle::release(std::exchange(view->handle, nullptr));
    const bool ours = type == scalar_view_type || type == view_type || type == bundle_view_type;
    if (ours && spare_count < most_spare)
        spare[spare_count++] = view;
    else
        PyObject_GC_Del(self);
    Py_DECREF(type);
}

// --- properties --------------------------------------------------------------------------------

bool is_modified(View* view) {
    Out* out = out_of(view);
    if (out == nullptr || !out->valid()) return false;
    const Time now = now_of(*out);
    return view->whole || out->modified(now) || sampled(out, now);
}

PyObject* get_value(PyObject* self, void*) {
    return guard([&]() -> PyObject* {
        Out* out = out_of(as_view(self));
        if (out == nullptr) Py_RETURN_NONE;
        return read_value(out, now_of(*out));
    });
}

int set_value(PyObject* self, PyObject* value, void*) {
    Out* out = out_of(as_view(self));
    if (!as_view(self)->writable || out == nullptr) {
        PyErr_SetString(PyExc_AttributeError, "an input cannot be written; write to the output");
        return -1;
    }
    try {
        if (value == nullptr || value == Py_None)
            out->invalidate(now_of(*out));
        else
            apply(*out, value, now_of(*out));
        return 0;
    } catch (const HostError&) {
        return -1;
    }
}

PyObject* get_delta(PyObject* self, void*) {
    return guard([&]() -> PyObject* {
        View* view = as_view(self);
        Out* out = out_of(view);
        if (out == nullptr) Py_RETURN_NONE;
        if (view->within && !is_modified(view)) return read_value(out, now_of(*out));
        return read_delta(out, now_of(*out), view->whole);
    });
}

PyObject* get_modified(PyObject* self, void*) { return PyBool_FromLong(is_modified(as_view(self))); }

PyObject* get_valid(PyObject* self, void*) {
    Out* out = out_of(as_view(self));
    return PyBool_FromLong(out != nullptr && out->valid());
}

PyObject* get_all_valid(PyObject* self, void*) {
    Out* out = out_of(as_view(self));
    return PyBool_FromLong(out != nullptr && out->all_valid());
}

PyObject* get_last_modified(PyObject* self, void*) {
    Out* out = out_of(as_view(self));
    if (out == nullptr || !out->valid()) return to_datetime(0);
    return to_datetime(out->last_modified);
}

PyObject* get_active(PyObject* self, void*) { return PyBool_FromLong(as_view(self)->active); }

PyObject* get_bound(PyObject* self, void*) {
    Out* out = out_of(as_view(self));
    return PyBool_FromLong(out != nullptr && out->resolve() != nullptr);
}

PyObject* get_true(PyObject*, void*) { Py_RETURN_TRUE; }
PyObject* get_false(PyObject*, void*) { Py_RETURN_FALSE; }

[[noreturn]] void wrong_kind(const char* what) {
    PyErr_Format(PyExc_TypeError, "%s: this kind of time series has none", what);
    throw HostError();
}
[[noreturn]] void no_attribute(const char* what) {
    PyErr_Format(PyExc_AttributeError, "this kind of time series has no %s", what);
    throw HostError();
}

Out* resolved(PyObject* self) {
    Out* out = out_of(as_view(self));
    return out == nullptr ? nullptr : out->resolve();
}

// Makes the views of what is inside a time series, all of them in one cycle.
class Inside {
public:
    explicit Inside(PyObject* self) : writable_(as_view(self)->writable) {
        const View* parent = as_view(self);
        const Out* out = out_of(parent);
        whole = parent->whole;
        within_ = parent->within;
        if (out == nullptr) return;
        now_ = now_of(*out);
        parts = parted(out, now_);
        whole = whole || (parts == nullptr && sampled(out, now_));
        within_ = within_ || out->modified(now_);
    }
    PyObject* view(Out* child) const {
        View* made = new_view(child, nullptr, writable_, none, whole, now_);
        made->within = within_;
        return reinterpret_cast<PyObject*>(made);
    }
    const Link* parts = nullptr;  // where each part tells whether it is another one
    bool whole = false;

private:
    Time now_ = never;
    bool writable_, within_ = false;
};

PyObject* child_view(PyObject* self, Out* child) {
    const Inside inside(self);
    if (inside.parts != nullptr && child->parent == resolved(self))
        child = inside.parts->part(child->slot);
    return inside.view(child);
}

PyObject* get_key_set(PyObject* self, void*) {
    return guard([&]() -> PyObject* {
        Out* out = resolved(self);
        if (out == nullptr || out->kind != Kind::dict) no_attribute("key_set");
        PyObject* keys = child_view(self, &static_cast<DictOut*>(out)->key_set);
        as_view(keys)->within = false;  // it ticks by itself
        return keys;
    });
}

// What is gone from a set or dictionary that leads elsewhere since this cycle.
const KeyTable* before_of(PyObject* self, Time now) {
    for (Out* at = out_of(as_view(self)); at != nullptr && at->is_link;
         at = static_cast<Link*>(at)->target) {
        const auto* link = static_cast<Link*>(at);
        if (link->steady_at == now) break;
        if (const KeyTable* before = link->before(now)) return before;
    }
    return nullptr;
}

enum class Which : std::uint8_t { all, valid, modified, added, removed };
enum class Give : std::uint8_t { keys, values, items };

void give_one(const Inside& inside, PyObject* list, Give give, PyObject* key, Out* child) {
    ObjRef item;
    if (give == Give::keys) {
        item = ObjRef(key);
    } else {
        ObjRef value = child == nullptr ? ObjRef(Py_None) : steal(inside.view(child));
        item = give == Give::values ? std::move(value) : steal(PyTuple_Pack(2, key, value.get()));
    }
    check(PyList_Append(list, item.get()));
}

// keys / values / items of a collection, all of them or those that meet a condition.
PyObject* listing(PyObject* self, Which which, Give give, const char* name) {
    Out* out = resolved(self);
    ObjRef list = steal(PyList_New(0));
    if (out == nullptr) return list.take();
    const Time now = now_of(*out);
    const Inside inside(self);
    const Link* parts = inside.parts;
    const bool whole = inside.whole;
    if (out->kind == Kind::list || out->kind == Kind::bundle) {
        if (which == Which::added || which == Which::removed) wrong_kind(name);
        const auto& group = static_cast<GroupOut&>(*out);
        for (std::uint32_t i = 0; i < group.size(); ++i) {
            Out* child = parts == nullptr ? group.children[i] : parts->part(i);
            if (which == Which::valid && !child->valid()) continue;
            if (which == Which::modified &&
                !(child->modified(now) || (child->valid() && (whole || sampled(child, now)))))
                continue;
            ObjRef key;
            if (give != Give::values)
                key = out->kind == Kind::bundle ? ObjRef(out->type->name_objects[i].get())
                                                : steal(PyLong_FromUnsignedLong(i));
            give_one(inside, list.get(), give, key.get(), child);
        }
        return list.take();
    }
    if (out->kind == Kind::set) {
        const KeyTable& keys = static_cast<SetOut&>(*out).keys;
        for (std::uint32_t at = 0; at < keys.slots(); ++at)
            if (keys.live(at)) check(PyList_Append(list.get(), keys.key(at)));
        if (give != Give::values || which != Which::all) wrong_kind(name);
        return list.take();
    }
    if (out->kind != Kind::dict) wrong_kind(name);
    const auto& dict = static_cast<DictOut&>(*out);
    const KeyTable& keys = dict.keys();
    const KeyTable* before = before_of(self, now);
    if (which == Which::removed) {
        if (whole && before != nullptr) {
            for (std::uint32_t at = 0; at < before->slots(); ++at)
                if (before->live(at) && keys.find(before->key(at)) == none)
                    give_one(inside, list.get(), give, before->key(at), nullptr);
        } else {
            for (const std::uint32_t at : keys.removed(now))
                give_one(inside, list.get(), give, keys.key(at), dict.children[at]);
        }
        return list.take();
    }
    if (!whole && (which == Which::added || which == Which::modified)) {
        if (which == Which::added) {
            for (const std::uint32_t at : keys.added(now))
                give_one(inside, list.get(), give, keys.key(at), dict.children[at]);
        } else {
            const auto& changed = dict.changed(now);
            for (auto it = changed.begin(); it != changed.end(); ++it) {
                const std::uint32_t at = *it;
                if (at >= keys.slots() || !keys.live(at)) continue;
                const Out& child = *dict.children[at];
                if (!child.modified(now) && !child.was_valid) continue;
                // Only what lost its value and got another one stands there twice.
                if (!child.was_valid || std::find(changed.begin(), it, at) == it)
                    give_one(inside, list.get(), give, keys.key(at), dict.children[at]);
            }
        }
        return list.take();
    }
    for (std::uint32_t at = 0; at < keys.slots(); ++at) {
        if (!keys.live(at)) continue;
        if ((which == Which::valid || which == Which::modified) && !dict.children[at]->valid())
            continue;
        if (which == Which::added && before != nullptr && before->find(keys.key(at)) != none) continue;
        give_one(inside, list.get(), give, keys.key(at), dict.children[at]);
    }
    return list.take();
}

#define MAINSPRING_LISTING(name, which, give)                                            \
    PyObject* name(PyObject* self, PyObject*) {                                          \
        return guard([&] { return listing(self, Which::which, Give::give, #name "()"); }); \
    }
MAINSPRING_LISTING(keys, all, keys)
MAINSPRING_LISTING(values, all, values)
MAINSPRING_LISTING(items, all, items)
MAINSPRING_LISTING(valid_keys, valid, keys)
MAINSPRING_LISTING(valid_values, valid, values)
MAINSPRING_LISTING(valid_items, valid, items)
MAINSPRING_LISTING(modified_keys, modified, keys)
MAINSPRING_LISTING(modified_values, modified, values)
MAINSPRING_LISTING(modified_items, modified, items)
MAINSPRING_LISTING(added_keys, added, keys)
MAINSPRING_LISTING(added_values, added, values)
MAINSPRING_LISTING(added_items, added, items)
MAINSPRING_LISTING(removed_keys, removed, keys)
MAINSPRING_LISTING(removed_values, removed, values)
MAINSPRING_LISTING(removed_items, removed, items)
#undef MAINSPRING_LISTING

// added() and removed() of a set.
PyObject* set_change(PyObject* self, bool want_added) {
    return guard([&]() -> PyObject* {
        Out* out = resolved(self);
        ObjRef result = steal(PyList_New(0));
        if (out == nullptr) return PyObject_CallOneArg(symbols.key_set, result.get());
        const KeyTable* table = nullptr;
        if (out->kind == Kind::set) table = &static_cast<SetOut*>(out)->keys;
        else if (out->kind == Kind::dict) table = &static_cast<DictOut*>(out)->keys();
        else wrong_kind(want_added ? "added()" : "removed()");
        const Time now = now_of(*out);
        const KeyTable* before = before_of(self, now);
        if (as_view(self)->whole || sampled(out_of(as_view(self)), now)) {
            const KeyTable* from = want_added ? table : before;
            const KeyTable* less = want_added ? before : table;
            if (from != nullptr)
                for (std::uint32_t at = 0; at < from->slots(); ++at)
                    if (from->live(at) && (less == nullptr || less->find(from->key(at)) == none))
                        check(PyList_Append(result.get(), from->key(at)));
        } else {
            for (const std::uint32_t at : want_added ? table->added(now) : table->removed(now))
                check(PyList_Append(result.get(), table->key(at)));
        }
        return PyObject_CallOneArg(symbols.key_set, result.get());
    });
}
PyObject* added(PyObject* self, PyObject*) { return set_change(self, true); }
PyObject* removed(PyObject* self, PyObject*) { return set_change(self, false); }

PyObject* was(PyObject* self, PyObject* key, bool want_added) {
    const ObjRef change = ObjRef::steal(set_change(self, want_added));
    if (!change) return nullptr;
    const int held = PySet_Contains(change.get(), key);
    return held < 0 ? nullptr : PyBool_FromLong(held);
}
PyObject* was_added(PyObject* self, PyObject* key) { return was(self, key, true); }
PyObject* was_removed(PyObject* self, PyObject* key) { return was(self, key, false); }

PyObject* is_reference(PyObject* self, PyObject*) {
    Out* out = out_of(as_view(self));
    return PyBool_FromLong(out != nullptr && out->kind == Kind::ref);
}

PyObject* make_active(PyObject* self, PyObject*) {
    View* view = as_view(self);
    Out* out = out_of(view);
    if (view->node == nullptr || out == nullptr || view->active) Py_RETURN_NONE;
    view->active = true;
    out->subscribe(view->node);
    Py_RETURN_NONE;
}

PyObject* make_passive(PyObject* self, PyObject*) {
    View* view = as_view(self);
    Out* out = out_of(view);
    if (view->node == nullptr || out == nullptr || !view->active) Py_RETURN_NONE;
    view->active = false;
    out->unsubscribe(view->node);
    Py_RETURN_NONE;
}

Out* lookup(PyObject* self, PyObject* key, bool missing_is_error) {
    Out* out = resolved(self);
    if (out == nullptr) {
        if (!missing_is_error) return nullptr;
        PyErr_SetObject(PyExc_KeyError, key);
        throw HostError();
    }
    if (out->kind == Kind::dict) {
        Out* found = static_cast<DictOut*>(out)->find(key);
        if (found == nullptr && missing_is_error) {
            PyErr_SetObject(PyExc_KeyError, key);
            throw HostError();
        }
        return found;
    }
    if (out->kind == Kind::bundle && PyUnicode_Check(key)) {
        const auto& names = out->type->name_objects;
        for (std::uint32_t i = 0; i < names.size(); ++i)
            if (names[i].get() == key || PyUnicode_Compare(names[i].get(), key) == 0)
                return static_cast<GroupOut*>(out)->children[i];
        if (!missing_is_error) return nullptr;
        PyErr_SetObject(PyExc_KeyError, key);
        throw HostError();
    }
    if (out->kind == Kind::list || out->kind == Kind::bundle) {
        Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError);
        if (i == -1 && PyErr_Occurred() != nullptr) throw HostError();
        const auto& children = static_cast<GroupOut*>(out)->children;
        const auto count = static_cast<Py_ssize_t>(children.size());
        if (i < 0) i += count;
        if (i >= 0 && i < count) return children[static_cast<std::size_t>(i)];
        if (!missing_is_error) return nullptr;
        PyErr_Format(PyExc_IndexError, "index %zd is outside a list of %zd time series", i, count);
        throw HostError();
    }
    PyErr_SetString(PyExc_TypeError, "this kind of time series has no children");
    throw HostError();
}

PyObject* view_subscript(PyObject* self, PyObject* key) {
    return guard([&]() -> PyObject* {
        Out* out = resolved(self);
        if (out != nullptr && out->kind == Kind::window) {
            const ObjRef values = steal(get_value(self, nullptr));
            return PyObject_GetItem(values.get(), key);
        }
        return child_view(self, lookup(self, key, true));
    });
}

int view_assign(PyObject* self, PyObject* key, PyObject* value) {
    try {
        Out* out = resolved(self);
        if (!as_view(self)->writable || out == nullptr) {
            PyErr_SetString(PyExc_TypeError, "an input cannot be written; write to the output");
            return -1;
        }
        const Time now = now_of(*out);
        if (out->kind == Kind::dict) {
            auto& dict = static_cast<DictOut&>(*out);
            if (value == nullptr) {
                dict.erase(key, now);
                dict.mark(now);
            } else {
                apply(*dict.create(key, now), value, now);
            }
            return 0;
        }
        if (value == nullptr) {
            PyErr_SetString(PyExc_TypeError, "only keys of a TSD can be deleted");
            return -1;
        }
        apply(*lookup(self, key, true), value, now);
        return 0;
    } catch (const HostError&) {
        return -1;
    }
}

PyObject* get(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    return guard([&]() -> PyObject* {
        if (count < 1 || count > 2) {
            PyErr_SetString(PyExc_TypeError, "get(key, default=None)");
            return nullptr;
        }
        Out* found = lookup(self, args[0], false);
        if (found == nullptr) return Py_NewRef(count == 2 ? args[1] : Py_None);
        return child_view(self, found);
    });
}

PyObject* key_from_value(PyObject* self, PyObject* value) {
    return guard([&]() -> PyObject* {
        Out* out = resolved(self);
        Out* wanted = PyObject_TypeCheck(value, view_type) ? out_of(as_view(value)) : nullptr;
        if (out == nullptr || wanted == nullptr || wanted->parent != out) Py_RETURN_NONE;
        if (out->kind == Kind::dict)
            return Py_NewRef(static_cast<DictOut*>(out)->keys().key(wanted->slot));
        if (out->kind == Kind::bundle) return Py_NewRef(out->type->name_objects[wanted->slot].get());
        return PyLong_FromUnsignedLong(wanted->slot);
    });
}

Py_ssize_t view_length(PyObject* self) {
    Out* out = resolved(self);
    const Kind kind = out == nullptr ? Kind::list : out->kind;
    switch (kind) {
        case Kind::list:
        case Kind::bundle:
            return out == nullptr ? 0 : static_cast<Py_ssize_t>(static_cast<GroupOut*>(out)->size());
        case Kind::dict:
            return static_cast<Py_ssize_t>(static_cast<DictOut*>(out)->size());
        case Kind::set:
            return static_cast<Py_ssize_t>(static_cast<SetOut*>(out)->keys.size());
        case Kind::window:
            static_cast<WindowOut*>(out)->expire(now_of(*out));
            return static_cast<Py_ssize_t>(static_cast<WindowOut*>(out)->size());
        default:
            PyErr_SetString(PyExc_TypeError,
                            "this kind of time series has no size (and no truth value); use .value");
            return -1;
    }
}

int view_contains(PyObject* self, PyObject* key) {
    try {
        Out* out = resolved(self);
        if (out == nullptr) return 0;
        if (out->kind == Kind::dict) return static_cast<DictOut*>(out)->find(key) != nullptr ? 1 : 0;
        if (out->kind == Kind::set)
            return static_cast<SetOut*>(out)->keys.find(key) != none ? 1 : 0;
        if (out->kind == Kind::bundle) return lookup(self, key, false) != nullptr ? 1 : 0;
        PyErr_SetString(PyExc_TypeError, "`in` needs a TSD, a TSS or a TSB");
        return -1;
    } catch (const HostError&) {
        return -1;
    }
}

PyObject* view_iter(PyObject* self) {
    return guard([&]() -> PyObject* {
        Out* out = resolved(self);
        ObjRef all;
        if (out == nullptr || out->kind == Kind::list || out->kind == Kind::bundle)
            all = steal(listing(self, Which::all, Give::values, "iteration"));
        else if (out->kind == Kind::dict)
            all = steal(listing(self, Which::all, Give::keys, "iteration"));
        else if (out->kind == Kind::set)
            all = steal(listing(self, Which::all, Give::values, "iteration"));
        else if (out->kind == Kind::window)
            all = steal(get_value(self, nullptr));
        else
            wrong_kind("iteration");
        return PyObject_GetIter(all.get());
    });
}

PyObject* view_repr(PyObject* self) {
    const ObjRef value = ObjRef::steal(get_value(self, nullptr));
    if (!value) return nullptr;
    return PyUnicode_FromFormat("%s(%S)", as_view(self)->writable ? "Output" : "TimeSeries",
                                value.get());
}

// --- windows -----------------------------------------------------------------------------------

WindowOut& window_of(PyObject* self, const char* what) {
    Out* out = resolved(self);
    if (out == nullptr || out->kind != Kind::window) no_attribute(what);
    auto& window = static_cast<WindowOut&>(*out);
    window.expire(now_of(window));
    return window;
}

PyObject* get_value_times(PyObject* self, void*) {
    return guard([&]() -> PyObject* {
        const WindowOut& window = window_of(self, "value_times");
        ObjRef list = steal(PyList_New(0));
        for (std::size_t i = window.first; i < window.times.size(); ++i) {
            const ObjRef time = steal(to_datetime(window.times[i]));
            check(PyList_Append(list.get(), time.get()));
        }
        const ObjRef kind = ObjRef(Py_True);
        PyObject* args[] = {list.get(), kind.get()};
        return PyObject_Vectorcall(symbols.make_window, args, 2, nullptr);
    });
}
PyObject* get_first_modified(PyObject* self, void*) {
    return guard([&]() -> PyObject* {
        const WindowOut& window = window_of(self, "first_modified_time");
        if (window.size() == 0) return to_datetime(0);
        return to_datetime(window.times[window.first]);
    });
}
PyObject* get_size(PyObject* self, void*) {
    return guard([&]() -> PyObject* {
        const TsType& type = *window_of(self, "size").type;
        return type.window_is_time ? to_timedelta(type.window) : PyLong_FromLongLong(type.window);
    });
}
PyObject* get_min_size(PyObject* self, void*) {
    return guard([&]() -> PyObject* {
        const TsType& type = *window_of(self, "min_size").type;
        return type.window_is_time ? to_timedelta(type.window_min)
                                   : PyLong_FromLongLong(type.window_min);
    });
}
PyObject* get_has_removed(PyObject* self, void*) {
    return guard([&]() -> PyObject* {
        const WindowOut& window = window_of(self, "has_removed_value");
        return PyBool_FromLong(window.removed_at == now_of(window) && !window.removed.empty());
    });
}
PyObject* get_removed_value(PyObject* self, void*) {
    return guard([&]() -> PyObject* {
        const WindowOut& window = window_of(self, "removed_value");
        if (window.removed_at != now_of(window) || window.removed.empty()) Py_RETURN_NONE;
        if (!window.type->window_is_time) return Py_NewRef(window.removed.back().get());
        ObjRef list = steal(PyList_New(0));
        for (const ObjRef& value : window.removed) check(PyList_Append(list.get(), value.get()));
        return list.take();
    });
}

// --- writing -----------------------------------------------------------------------------------

Out* writable(PyObject* self) {
    Out* out = resolved(self);
    if (!as_view(self)->writable || out == nullptr) {
        PyErr_SetString(PyExc_TypeError, "an input cannot be written; write to the output");
        throw HostError();
    }
    return out;
}

PyObject* apply_result(PyObject* self, PyObject* value) {
    return guard([&]() -> PyObject* {
        Out* out = writable(self);
        if (value != Py_None) apply(*out, value, now_of(*out));
        Py_RETURN_NONE;
    });
}
PyObject* can_apply_result(PyObject* self, PyObject* const*, Py_ssize_t) {
    return guard([&]() -> PyObject* {
        Out* out = writable(self);
        return PyBool_FromLong(can_apply(*out, now_of(*out)));
    });
}
PyObject* invalidate(PyObject* self, PyObject*) {
    return guard([&]() -> PyObject* {
        Out* out = writable(self);
        out->invalidate(now_of(*out));
        Py_RETURN_NONE;
    });
}
// Whoever writes to an output ticks it, whether or not anything is different after.
PyObject* clear(PyObject* self, PyObject*) {
    return guard([&]() -> PyObject* {
        Out* out = writable(self);
        const Time now = now_of(*out);
        if (out->kind == Kind::dict) {
            auto& dict = static_cast<DictOut&>(*out);
            for (std::uint32_t at = 0; at < dict.keys().slots(); ++at)
                if (dict.keys().live(at)) dict.erase_slot(at, now);
            dict.mark(now);
        } else if (out->kind == Kind::set) {
            auto& set = static_cast<SetOut&>(*out);
            for (std::uint32_t at = 0; at < set.keys.slots(); ++at)
                if (set.keys.live(at)) {
                    const ObjRef key(set.keys.key(at));
                    set.remove(key.get(), now);
                }
            set.mark(now);
        } else {
            out->invalidate(now);
        }
        Py_RETURN_NONE;
    });
}
PyObject* touch(PyObject* self, PyObject*) {
    return guard([&]() -> PyObject* {
        Out* out = writable(self);
        if (out->valid()) out->mark(now_of(*out));
        Py_RETURN_NONE;
    });
}
PyObject* add(PyObject* self, PyObject* key) {
    return guard([&]() -> PyObject* {
        Out* out = writable(self);
        if (out->kind != Kind::set) wrong_kind("add()");
        const bool fresh = static_cast<SetOut&>(*out).add(key, now_of(*out));
        out->mark(now_of(*out));
        return PyBool_FromLong(fresh);
    });
}
PyObject* remove(PyObject* self, PyObject* key) {
    return guard([&]() -> PyObject* {
        Out* out = writable(self);
        const Time now = now_of(*out);
        bool there = false;
        if (out->kind == Kind::set)
            there = static_cast<SetOut&>(*out).remove(key, now);
        else if (out->kind == Kind::dict)
            there = static_cast<DictOut&>(*out).erase(key, now);
        else
            wrong_kind("remove()");
        out->mark(now);
        return PyBool_FromLong(there);
    });
}
PyObject* get_or_create(PyObject* self, PyObject* key) {
    return guard([&]() -> PyObject* {
        Out* out = writable(self);
        if (out->kind != Kind::dict) wrong_kind("get_or_create()");
        return child_view(self, static_cast<DictOut&>(*out).create(key, now_of(*out)));
    });
}
PyObject* pop(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    return guard([&]() -> PyObject* {
        Out* out = writable(self);
        if (out->kind != Kind::dict || count < 1) wrong_kind("pop()");
        auto& dict = static_cast<DictOut&>(*out);
        Out* child = dict.find(args[0]);
        if (child == nullptr) return Py_NewRef(count > 1 ? args[1] : Py_None);
        ObjRef value = steal(read_value(child, now_of(*out)));
        dict.erase(args[0], now_of(*out));
        return value.take();
    });
}

PyObject* as_schema(PyObject* self, void*) { return Py_NewRef(self); }

PyObject* get_owning_node(PyObject* self, void*) {
    return guard([&]() -> PyObject* {
        View* view = as_view(self);
        Out* out = out_of(view);
        if (out == nullptr) Py_RETURN_NONE;
        return node_view(view->node != nullptr ? view->node : out->owner);
    });
}
PyObject* get_owning_graph(PyObject* self, void*) {
    return guard([&]() -> PyObject* {
        Out* out = out_of(as_view(self));
        if (out == nullptr) Py_RETURN_NONE;
        return graph_view(out->owner->graph);
    });
}

PyObject* bundle_getattro(PyObject* self, PyObject* name) {
    // What every bundle has keeps its meaning, so that `ts.value` is the whole whatever the fields are
    // called; other words of the views mean nothing here, and are free for fields.
    Out* out = resolved(self);
    if (out != nullptr && out->kind == Kind::bundle) {
        const auto& names = out->type->name_objects;
        for (std::uint32_t i = 0; i < names.size(); ++i) {
            if (names[i].get() != name && PyUnicode_Compare(names[i].get(), name) != 0) continue;
            if (out->type->hidden_names[i]) break;
            return guard(
                [&] { return child_view(self, static_cast<GroupOut*>(out)->children[i]); });
        }
    }
    return PyObject_GenericGetAttr(self, name);
}

PyMethodDef methods[] = {
    {"keys", keys, METH_NOARGS, "The keys (TSD), indices (TSL) or field names (TSB)."},
    {"values", values, METH_NOARGS, "The time series inside, or the elements of a TSS."},
    {"items", items, METH_NOARGS, "Pairs of key and time series."},
    {"valid_keys", valid_keys, METH_NOARGS, "Keys of what has a value."},
    {"valid_values", valid_values, METH_NOARGS, "What has a value."},
    {"valid_items", valid_items, METH_NOARGS, "Pairs of what has a value."},
    {"modified_keys", modified_keys, METH_NOARGS, "Keys of what ticked in this cycle."},
    {"modified_values", modified_values, METH_NOARGS, "What ticked in this cycle."},
    {"modified_items", modified_items, METH_NOARGS, "Pairs of what ticked in this cycle."},
    {"added_keys", added_keys, METH_NOARGS, "Keys that came in this cycle."},
    {"added_values", added_values, METH_NOARGS, "What came in this cycle."},
    {"added_items", added_items, METH_NOARGS, "Pairs that came in this cycle."},
    {"removed_keys", removed_keys, METH_NOARGS, "Keys that went in this cycle."},
    {"removed_values", removed_values, METH_NOARGS, "What went in this cycle."},
    {"removed_items", removed_items, METH_NOARGS, "Pairs that went in this cycle."},
    {"added", added, METH_NOARGS, "The elements that came in this cycle."},
    {"removed", removed, METH_NOARGS, "The elements that went in this cycle."},
    {"was_added", was_added, METH_O, "Did this key come in this cycle?"},
    {"was_removed", was_removed, METH_O, "Did this key go in this cycle?"},
    {"get", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(get)), METH_FASTCALL,
     "The time series of a key, or a default."},
    {"key_from_value", key_from_value, METH_O, "The key a child stands at."},
    {"is_reference", is_reference, METH_NOARGS, "Is this a REF?"},
    {"make_active", make_active, METH_NOARGS, "Let ticks evaluate the node."},
    {"make_passive", make_passive, METH_NOARGS, "Let ticks go unnoticed."},
    {"apply_result", apply_result, METH_O, "Apply a value as if the node had returned it."},
    {"can_apply_result", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(can_apply_result)), METH_FASTCALL,
     "Has the output not ticked yet, so that it can take this result?"},
    {"invalidate", invalidate, METH_NOARGS, "Take the value away."},
    {"clear", clear, METH_NOARGS, "Remove every key or element."},
    {"touch", touch, METH_NOARGS, "Tick with the value there is."},
    {"add", add, METH_O, "Add an element to a TSS: was it new?"},
    {"remove", remove, METH_O, "Remove an element or key: was it there?"},
    {"get_or_create", get_or_create, METH_O, "The time series of a key, made if missing."},
    {"pop", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(pop)), METH_FASTCALL,
     "Remove a key and give its last value."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef getset[] = {
    {"value", get_value, set_value, "The current value.", nullptr},
    {"delta_value", get_delta, nullptr, "What changed in this cycle.", nullptr},
    {"modified", get_modified, nullptr, "Did it tick in this cycle?", nullptr},
    {"valid", get_valid, nullptr, "Has it ever ticked?", nullptr},
    {"all_valid", get_all_valid, nullptr, "Is everything in it valid?", nullptr},
    {"last_modified_time", get_last_modified, nullptr, "When it last ticked.", nullptr},
    {"active", get_active, nullptr, "Do ticks evaluate the node?", nullptr},
    {"bound", get_bound, nullptr, "Does it lead to an output?", nullptr},
    {"has_peer", get_true, nullptr, "Always true here.", nullptr},
    {"has_parent_input", get_false, nullptr, "Always false here.", nullptr},
    {"key_set", get_key_set, nullptr, "The keys of a TSD, as a TSS.", nullptr},
    {"as_schema", as_schema, nullptr, "The same view, typed as its schema.", nullptr},
    {"value_times", get_value_times, nullptr, "When the values of a window ticked.", nullptr},
    {"first_modified_time", get_first_modified, nullptr, "When a window's oldest value ticked.",
     nullptr},
    {"size", get_size, nullptr, "A window's size.", nullptr},
    {"min_size", get_min_size, nullptr, "A window's least size.", nullptr},
    {"has_removed_value", get_has_removed, nullptr, "Did a value leave the window now?", nullptr},
    {"removed_value", get_removed_value, nullptr, "The value that left the window.", nullptr},
    {"owning_node", get_owning_node, nullptr, "The node it belongs to.", nullptr},
    {"owning_graph", get_owning_graph, nullptr, "The graph it belongs to.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef scalar_members[] = {
    {"value", T_OBJECT_EX, offsetof(View, value), READONLY, "The current value."},
    {"modified", T_OBJECT_EX, offsetof(View, modified), READONLY, "Did it tick in this cycle?"},
    {"valid", T_OBJECT_EX, offsetof(View, valid), READONLY, "Has it ever ticked?"},
    {nullptr, 0, 0, 0, nullptr},
};

template <class F>
void* slot(F* function) {
    return reinterpret_cast<void*>(function);
}

// --- references --------------------------------------------------------------------------------

int reference_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return 0;
}
void reference_dealloc(PyObject* self) {
    auto* reference = reinterpret_cast<Reference*>(self);
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Handle::release(std::exchange(reference->handle, nullptr));
    PyObject_GC_Del(self);
    Py_DECREF(type);
}
PyObject* reference_repr(PyObject* self) {
    Out* out = follow_reference(self);
    if (out == nullptr) return PyUnicode_FromString("REF[<empty>]");
    return PyUnicode_FromFormat("REF[%s%s[%u]]", out->owner->graph->path().c_str(),
                                out->owner->spec->name.c_str(), out->owner->index);
}
PyObject* reference_compare(PyObject* left, PyObject* right, int op) {
    if ((op != Py_EQ && op != Py_NE) || Py_TYPE(right) != reference_type) Py_RETURN_NOTIMPLEMENTED;
    const bool same = follow_reference(left) == follow_reference(right);
    return PyBool_FromLong(same == (op == Py_EQ));
}
Py_hash_t reference_hash(PyObject* self) {
    return static_cast<Py_hash_t>(reinterpret_cast<std::uintptr_t>(follow_reference(self)) >> 4U);
}
PyObject* reference_is_empty(PyObject* self, void*) {
    return PyBool_FromLong(follow_reference(self) == nullptr);
}
PyObject* reference_is_valid(PyObject* self, void*) {
    Out* out = follow_reference(self);
    return PyBool_FromLong(out != nullptr && out->valid());
}
PyObject* reference_has_output(PyObject* self, void*) {
    return PyBool_FromLong(follow_reference(self) != nullptr);
}
PyObject* reference_output(PyObject* self, void*) {
    return guard([&]() -> PyObject* {
        Out* out = follow_reference(self);
        if (out == nullptr) Py_RETURN_NONE;
        return reinterpret_cast<PyObject*>(new_view(out, nullptr, false, none, false));
    });
}

PyGetSetDef reference_getset[] = {
    {"is_empty", reference_is_empty, nullptr, "Does it lead nowhere?", nullptr},
    {"is_valid", reference_is_valid, nullptr, "Has what it leads to a value?", nullptr},
    {"has_output", reference_has_output, nullptr, "Does it lead to an output?", nullptr},
    {"output", reference_output, nullptr, "What it leads to, to be read.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

bool is_bundle_word(std::string_view name) {
    static constexpr std::string_view words[] = {
        "value",        "delta_value",     "modified",       "valid",       "all_valid",
        "last_modified_time", "active",    "bound",          "has_peer",    "as_schema",
        "keys",         "values",          "items",          "valid_keys",  "valid_values",
        "valid_items",  "modified_keys",   "modified_values", "modified_items", "get",
        "make_active",  "make_passive",    "owning_node",    "owning_graph",
    };
    return std::find(std::begin(words), std::end(words), name) != std::end(words);
}

View* new_view(Out* out, Node* reader, bool writable_view, std::uint32_t input, bool whole, Time now) {
    const Out* end = out == nullptr ? nullptr : out->resolve();
    const Kind kind = end != nullptr ? end->kind : out == nullptr ? Kind::scalar : out->kind;
    PyTypeObject* type = view_type;
    if (kind == Kind::bundle) type = bundle_view_type;
    else if (!writable_view && kind == Kind::scalar) type = scalar_view_type;
    View* view = allocate_view(type);
    if (view == nullptr) throw HostError();
    view->value = Py_NewRef(Py_None);
    view->modified = Py_NewRef(Py_False);
    view->valid = Py_NewRef(Py_False);
    view->handle = out == nullptr ? nullptr : out->handle();
    view->node = reader;
    view->writable = writable_view;
    view->whole = whole;
    view->within = false;
    view->active = true;
    view->input = input;
    if (type != scalar_view_type || out == nullptr) return view;
    // Only a view that keeps an object of the program's can be part of a cycle.
    if (out->type->scalar == Scalar::object) PyObject_GC_Track(reinterpret_cast<PyObject*>(view));
    refresh(view, *out, now == never ? now_of(*out) : now);
    return view;
}

bool init_views(PyObject* module) {
    init_times();
    PyType_Slot base_slots[] = {
        {Py_tp_doc, const_cast<char*>("A time series as a node's function sees it.")},
        {Py_tp_dealloc, slot(view_dealloc)},
        {Py_tp_traverse, slot(view_traverse)},
        {Py_tp_clear, slot(view_clear)},
        {Py_tp_repr, slot(view_repr)},
        {Py_tp_iter, slot(view_iter)},
        {Py_tp_methods, methods},
        {Py_tp_getset, getset},
        {Py_mp_length, slot(view_length)},
        {Py_mp_subscript, slot(view_subscript)},
        {Py_mp_ass_subscript, slot(view_assign)},
        {Py_sq_contains, slot(view_contains)},
        {0, nullptr},
    };
    constexpr unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE |
                               Py_TPFLAGS_DISALLOW_INSTANTIATION;
    PyType_Spec base = {"mainspring._kernel.graph.TimeSeries", sizeof(View), 0, flags, base_slots};
    PyType_Slot scalar_slots[] = {
        {Py_tp_members, scalar_members},
        {Py_tp_dealloc, slot(view_dealloc)},
        {Py_tp_traverse, slot(view_traverse)},
        {Py_tp_clear, slot(view_clear)},
        {0, nullptr},
    };
    PyType_Spec scalar = {"mainspring._kernel.graph.ScalarTimeSeries", sizeof(View), 0, flags,
                          scalar_slots};
    PyType_Slot bundle_slots[] = {
        {Py_tp_getattro, slot(bundle_getattro)},
        {Py_tp_dealloc, slot(view_dealloc)},
        {Py_tp_traverse, slot(view_traverse)},
        {Py_tp_clear, slot(view_clear)},
        {0, nullptr},
    };
    PyType_Spec bundle = {"mainspring._kernel.graph.BundleTimeSeries", sizeof(View), 0, flags,
                          bundle_slots};
    PyType_Slot reference_slots[] = {
        {Py_tp_doc, const_cast<char*>("A way to a time series, itself a value.")},
        {Py_tp_dealloc, slot(reference_dealloc)},
        {Py_tp_traverse, slot(reference_traverse)},
        {Py_tp_repr, slot(reference_repr)},
        {Py_tp_richcompare, slot(reference_compare)},
        {Py_tp_hash, slot(reference_hash)},
        {Py_tp_getset, reference_getset},
        {0, nullptr},
    };
    PyType_Spec reference = {"mainspring._kernel.graph.Reference", sizeof(Reference), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             reference_slots};
    view_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&base));
    if (view_type == nullptr) return false;
    auto* parent = reinterpret_cast<PyObject*>(view_type);
    scalar_view_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&scalar, parent));
    bundle_view_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&bundle, parent));
    reference_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&reference));
    return scalar_view_type != nullptr && bundle_view_type != nullptr && reference_type != nullptr &&
           PyModule_AddObjectRef(module, "TimeSeries", parent) == 0 &&
           PyModule_AddObjectRef(module, "ScalarTimeSeries",
                                 reinterpret_cast<PyObject*>(scalar_view_type)) == 0 &&
           PyModule_AddObjectRef(module, "BundleTimeSeries",
                                 reinterpret_cast<PyObject*>(bundle_view_type)) == 0 &&
           PyModule_AddObjectRef(module, "Reference",
                                 reinterpret_cast<PyObject*>(reference_type)) == 0;
}

}  // namespace mainspring::graph::py

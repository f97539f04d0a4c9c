#include "log/py_tape.hpp"

#include <structmember.h>

#include <array>
#include <cstring>
#include <utility>

#include "clock/py_host.hpp"

namespace mainspring::log {

namespace {

// The list's own header: five bytes, filled in when it is taken and its length is known.
constexpr std::size_t kHeader = 5;
// More than this, and `on_first` is told each time: whoever writes is to catch up first.
constexpr std::size_t kMuch = std::size_t{64} << 20;

/// Where the members of an input lie. Its type keeps them in slots, which are read in place: four
/// attribute lookups would cost more than encoding what they find.
class InputLayout {
public:
    enum Member : std::size_t { seq, kind, payload, source };

    /// Borrowed from `given`, or else held by `owned`.
    PyObject* read(PyObject* given, Member member, nb::object& owned) {
        if (Py_TYPE(given) != type_) learn(given);
        if (const Py_ssize_t offset = offsets_[member]; offset != 0) {
            PyObject* found = nullptr;
            std::memcpy(&found, reinterpret_cast<const char*>(given) + offset, sizeof found);
            if (found != nullptr) return found;
        }
        owned = nb::steal(PyObject_GetAttrString(given, kNames[member]));
        if (!owned.is_valid()) throw nb::python_error();
        return owned.ptr();
    }

private:
    static constexpr std::array<const char*, 4> kNames{"seq", "kind", "payload", "source"};

    void learn(PyObject* given) {
        type_ = Py_TYPE(given);
        for (std::size_t i = 0; i < kNames.size(); ++i) {
            const nb::object found =
                nb::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type_), kNames[i]));
            offsets_[i] = 0;
            if (!found.is_valid()) {
                PyErr_Clear();
            } else if (Py_IS_TYPE(found.ptr(), &PyMemberDescr_Type)) {
                const PyMemberDef* slot = reinterpret_cast<PyMemberDescrObject*>(found.ptr())->d_member;
                if (slot->type == T_OBJECT_EX) offsets_[i] = slot->offset;
            }
        }
    }

    PyTypeObject* type_ = nullptr;  ///< compared, never followed: the inputs keep it alive
    std::array<Py_ssize_t, 4> offsets_{};
};

InputLayout layout;

}  // namespace

PyTape::PyTape(nb::object manager_, nb::object timeline_, nb::object fallback_, nb::object check_,
               nb::object on_own_, nb::object on_first_)
    : manager(std::move(manager_)),
      timeline(std::move(timeline_)),
      fallback(std::move(fallback_)),
      check(std::move(check_)),
      on_own(std::move(on_own_)),
      on_first(std::move(on_first_)),
      engine_(&nb::cast<const clock::PyTimeline&>(timeline).engine) {}

void PyTape::admit(PyObject* item) {
    const nb::handle given = item;
    nb::object owned;
    // What counts is what is drained; this is only to see that it can be encoded.
    if (!is_plain(layout.read(item, InputLayout::payload, owned))) check(given);
    if (engine_ == nullptr || !engine_->inside()) return;
    const nb::object owner = manager.attr("_owner");
    if (PyLong_AsUnsignedLong(owner.ptr()) == PyThread_get_thread_ident()) on_own(given);
}

void PyTape::inputs(std::int64_t time_ns, nb::handle list) {
    // Encoded aside and appended whole: a fallback runs Python, and the writer may take meanwhile.
    group(time_ns, list);
    const bool first = groups == 0;
    if (first) {
        out.raw({"\xdd\0\0\0\0", kHeader});
        first_ns = time_ns;
    }
    out.raw(group_.bytes());
    last_ns = time_ns;
    ++groups;
    last_seq = drained_;
    if (first || out.size() > kMuch) on_first();
}

void PyTape::group(std::int64_t time_ns, nb::handle list) {
    if (!PyList_CheckExact(list.ptr())) throw nb::type_error("inputs come as a list");
    group_.clear();
    group_.list(2);
    group_.integer(time_ns);
    const Py_ssize_t n = PyList_GET_SIZE(list.ptr());
    group_.list(static_cast<std::size_t>(n));
    drained_ = last_seq;
    for (Py_ssize_t i = 0; i < n; ++i) {
        const nb::object given = nb::borrow(PyList_GET_ITEM(list.ptr(), i));
        nb::object owned;
        group_.list(4);
        for (const auto member :
             {InputLayout::seq, InputLayout::kind, InputLayout::payload, InputLayout::source}) {
            PyObject* value = layout.read(given.ptr(), member, owned);
            if (!encode(value, group_, fallback.ptr())) throw nb::python_error();
            if (member == InputLayout::seq) drained_ = PyLong_AsLongLong(value);
        }
    }
}

nb::object PyTape::take() {
    if (groups == 0) return nb::none();
    for (std::size_t i = 0; i < 4; ++i) out.data()[1 + i] = static_cast<char>(groups >> (24 - 8 * i));
    nb::object taken = nb::make_tuple(first_ns, last_ns, groups, last_seq, nb::bytes(out.data(), out.size()));
    out.clear();
    groups = 0;
    return taken;
}

int PyTape::traverse(visitproc visit, void* arg) const {
    Py_VISIT(manager.ptr());
    Py_VISIT(timeline.ptr());
    Py_VISIT(fallback.ptr());
    Py_VISIT(check.ptr());
    Py_VISIT(on_own.ptr());
    Py_VISIT(on_first.ptr());
    return 0;
}

void PyTape::clear() {
    engine_ = nullptr;
    manager.reset();
    timeline.reset();
    fallback.reset();
    check.reset();
    on_own.reset();
    on_first.reset();
}

}  // namespace mainspring::log

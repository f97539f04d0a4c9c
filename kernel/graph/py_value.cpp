// Between outputs and Python objects: times, values, deltas, and what a node returned.
#include "graph/py_object.hpp"

#include <datetime.h>

namespace mainspring::graph::py {

Symbols symbols;

// --- times -------------------------------------------------------------------------------------

namespace {

constexpr std::int64_t day_ns = 86'400'000'000'000;
// A span that reaches past what nanoseconds count from any time is one of these: half of all, so that it
// can be added to a time.
constexpr std::int64_t longest = forever / 2, most_days = longest / day_ns;

// Days since 1970-01-01 to a civil date and back (proleptic Gregorian calendar).
void civil_from_days(std::int64_t days, int& year, int& month, int& day) {
    days += 719468;
    const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    const std::int64_t day_of_era = days - era * 146097;
    const std::int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const std::int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const std::int64_t shifted = (5 * day_of_year + 2) / 153;
    day = static_cast<int>(day_of_year - (153 * shifted + 2) / 5 + 1);
    month = static_cast<int>(shifted < 10 ? shifted + 3 : shifted - 9);
    year = static_cast<int>(year_of_era + era * 400 + (month <= 2 ? 1 : 0));
}

std::int64_t days_from_civil(std::int64_t year, int month, int day) {
    year -= month <= 2 ? 1 : 0;
    const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
    const std::int64_t year_of_era = year - era * 400;
    const std::int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    const std::int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

}  // namespace

void init_times() { PyDateTime_IMPORT; }

bool is_datetime(PyObject* value) { return PyDateTime_Check(value); }
bool is_timedelta(PyObject* value) { return PyDelta_Check(value); }

PyObject* to_datetime(Time time) {
    // The year 2262 is as far as nanoseconds reach; what lies at the end stands for hgraph's MAX_ET.
    if (time == forever)
        return PyDateTimeAPI->DateTime_FromDateAndTime(2299, 12, 31, 23, 59, 59, 999999, Py_None,
                                                       PyDateTimeAPI->DateTimeType);
    std::int64_t days = time / day_ns;
    std::int64_t rest = time % day_ns;
    if (rest < 0) {
        rest += day_ns;
        --days;
    }
    int year = 0, month = 0, day = 0;
    civil_from_days(days, year, month, day);
    const auto us = static_cast<int>(rest % 1'000'000'000 / 1000);
    const auto seconds = static_cast<int>(rest / 1'000'000'000);
    return PyDateTimeAPI->DateTime_FromDateAndTime(year, month, day, seconds / 3600,
                                                   seconds / 60 % 60, seconds % 60, us, Py_None,
                                                   PyDateTimeAPI->DateTimeType);
}

Time from_datetime(PyObject* value) {
    if (!PyDateTime_Check(value)) {
        PyErr_Format(PyExc_TypeError, "a datetime is needed here, not %R", value);
        throw HostError();
    }
    const int year = PyDateTime_GET_YEAR(value);
    if (year >= 2262) return forever;
    const std::int64_t days =
        days_from_civil(year, PyDateTime_GET_MONTH(value), PyDateTime_GET_DAY(value));
    const std::int64_t seconds = PyDateTime_DATE_GET_HOUR(value) * std::int64_t{3600} +
                                 PyDateTime_DATE_GET_MINUTE(value) * std::int64_t{60} +
                                 PyDateTime_DATE_GET_SECOND(value);
    if (days < -most_days) return -longest;
    return days * day_ns + seconds * 1'000'000'000 +
           PyDateTime_DATE_GET_MICROSECOND(value) * std::int64_t{1000};
}

PyObject* to_timedelta(std::int64_t ns) {
    std::int64_t days = ns / day_ns;
    std::int64_t rest = ns % day_ns;
    if (rest < 0) {
        rest += day_ns;
        --days;
    }
    return PyDelta_FromDSU(static_cast<int>(days), static_cast<int>(rest / 1'000'000'000),
                           static_cast<int>(rest % 1'000'000'000 / 1000));
}

std::int64_t from_timedelta(PyObject* value) {
    if (!PyDelta_Check(value)) {
        PyErr_Format(PyExc_TypeError, "a timedelta is needed here, not %R", value);
        throw HostError();
    }
    const std::int64_t days = PyDateTime_DELTA_GET_DAYS(value);
    if (days >= most_days) return longest;
    if (days <= -most_days) return -longest;
    return days * day_ns + PyDateTime_DELTA_GET_SECONDS(value) * std::int64_t{1'000'000'000} +
           PyDateTime_DELTA_GET_MICROSECONDS(value) * std::int64_t{1000};
}

// --- reading -----------------------------------------------------------------------------------

namespace {

PyObject* borrowed(PyObject* object) { return Py_NewRef(object == nullptr ? Py_None : object); }

ObjRef set_of(const KeyTable& keys) {
    ObjRef list = steal(PyList_New(0));
    for (std::uint32_t at = 0; at < keys.slots(); ++at)
        if (keys.live(at)) check(PyList_Append(list.get(), keys.key(at)));
    return steal(PyObject_CallOneArg(symbols.key_set, list.get()));
}

PyObject* bundle_value(GroupOut& group, Time now) {
    const TsType& type = *group.type;
    ObjRef dict = steal(PyDict_New());
    for (std::uint32_t i = 0; i < group.size(); ++i) {
        const ObjRef item = steal(read_value(group.children[i], now));
        check(PyDict_SetItem(dict.get(), type.name_objects[i].get(), item.get()));
    }
    if (!type.value_class) return dict.take();
    return steal(PyObject_VectorcallDict(type.value_class.get(), nullptr, 0, dict.get())).take();
}

PyObject* window_value(WindowOut& window) {
    ObjRef list = steal(PyList_New(0));
    for (std::size_t i = window.first; i < window.values.size(); ++i)
        check(PyList_Append(list.get(), window.values[i].get()));
    PyObject* element = window.type->scalar_type ? window.type->scalar_type.get() : Py_None;
    PyObject* args[] = {list.get(), element};
    return steal(PyObject_Vectorcall(symbols.make_window, args, 2, nullptr)).take();
}

}  // namespace

PyObject* read_value(Out* from, Time now) {
    Out* out = from->resolve();
    if (out == nullptr || !out->valid()) Py_RETURN_NONE;
    switch (out->kind) {
        case Kind::bundle:
            return bundle_value(static_cast<GroupOut&>(*out), now);
        case Kind::list: {
            auto& group = static_cast<GroupOut&>(*out);
            ObjRef items = steal(PyTuple_New(static_cast<Py_ssize_t>(group.size())));
            for (std::uint32_t i = 0; i < group.size(); ++i)
                PyTuple_SET_ITEM(items.get(), static_cast<Py_ssize_t>(i),
                                 steal(read_value(group.children[i], now)).take());
            return items.take();
        }
        case Kind::dict: {
            auto& dict = static_cast<DictOut&>(*out);
            ObjRef items = steal(PyDict_New());
            for (std::uint32_t at = 0; at < dict.keys().slots(); ++at) {
                if (!dict.keys().live(at)) continue;
                const ObjRef item = steal(read_value(dict.children[at], now));
                check(PyDict_SetItem(items.get(), dict.keys().key(at), item.get()));
            }
            return items.take();
        }
        case Kind::set:
            return set_of(static_cast<SetOut&>(*out).keys).take();
        case Kind::window:
            static_cast<WindowOut&>(*out).expire(now);
            return window_value(static_cast<WindowOut&>(*out));
        case Kind::signal:
            Py_RETURN_TRUE;
        default:
            return borrowed(as_scalar(*out).object());
    }
}

namespace {

PyObject* dict_delta(DictOut& dict, Time now, bool whole, const KeyTable* before) {
    ObjRef items = steal(PyDict_New());
    const KeyTable& keys = dict.keys();
    const auto put = [&](std::uint32_t at) {
        Out* child = dict.children[at];
        if (!child->valid()) return;
        const ObjRef item = steal(read_delta(child, now, whole || keys.was_added(at, now)));
        check(PyDict_SetItem(items.get(), keys.key(at), item.get()));
    };
    if (whole) {
        for (std::uint32_t at = 0; at < keys.slots(); ++at)
            if (keys.live(at)) put(at);
        if (before != nullptr)
            for (std::uint32_t at = 0; at < before->slots(); ++at)
                if (before->live(at) && keys.find(before->key(at)) == none)
                    check(PyDict_SetItem(items.get(), before->key(at), symbols.remove));
        return items.take();
    }
    for (const std::uint32_t at : keys.added(now))
        if (!dict.children[at]->modified(now)) put(at);  // valid before it got here
    for (const std::uint32_t at : dict.changed(now))
        if (at < keys.slots() && keys.live(at)) put(at);
    for (const std::uint32_t at : keys.removed(now))
        if (dict.children[at]->ever_valid())  // a key without a value was in no change yet
            check(PyDict_SetItem(items.get(), keys.key(at), symbols.remove));
    return items.take();
}

PyObject* set_delta(SetOut& set, Time now, bool whole, const KeyTable* before) {
    // Lists: a Python set would lose the order of the keys.
    ObjRef added = steal(PyList_New(0));
    ObjRef removed = steal(PyList_New(0));
    const KeyTable& keys = set.keys;
    if (whole) {
        for (std::uint32_t at = 0; at < keys.slots(); ++at)
            if (keys.live(at) && (before == nullptr || before->find(keys.key(at)) == none))
                check(PyList_Append(added.get(), keys.key(at)));
        if (before != nullptr)
            for (std::uint32_t at = 0; at < before->slots(); ++at)
                if (before->live(at) && keys.find(before->key(at)) == none)
                    check(PyList_Append(removed.get(), before->key(at)));
    } else {
        for (const std::uint32_t at : keys.added(now)) check(PyList_Append(added.get(), keys.key(at)));
        for (const std::uint32_t at : keys.removed(now))
            check(PyList_Append(removed.get(), keys.key(at)));
    }
    PyObject* args[] = {added.get(), removed.get()};
    return steal(PyObject_Vectorcall(symbols.set_delta, args, 2, nullptr)).take();
}

}  // namespace

// Whether a part is a collection that led somewhere until now: it has no value, yet all in it is gone.
static bool emptied(const Out* part, Time now) {
    return part->is_link && (part->kind == Kind::set || part->kind == Kind::dict) &&
           static_cast<const Link*>(part)->before(now) != nullptr;
}

PyObject* read_delta(Out* from, Time now, bool whole) {
    const KeyTable* before = nullptr;
    const bool all = whole;
    const Link* parts = parted(from, now);
    for (Out* at = from; at != nullptr && at->is_link; at = static_cast<Link*>(at)->target) {
        const auto* link = static_cast<Link*>(at);
        if (link->steady_at == now) break;
        if (!link->sampled(now)) continue;
        whole = true;
        if (before == nullptr) before = link->before(now);
    }
    Out* out = from->resolve();
    if (out == nullptr || !out->valid()) {
        // A collection that led somewhere until now: everything in it is gone.
        if (before == nullptr) Py_RETURN_NONE;
        if (from->kind == Kind::set) {
            const ObjRef gone = set_of(*before);
            const ObjRef nothing = steal(PySet_New(nullptr));
            PyObject* args[] = {nothing.get(), gone.get()};
            return steal(PyObject_Vectorcall(symbols.set_delta, args, 2, nullptr)).take();
        }
        ObjRef items = steal(PyDict_New());
        for (std::uint32_t at = 0; at < before->slots(); ++at)
            if (before->live(at)) check(PyDict_SetItem(items.get(), before->key(at), symbols.remove));
        return items.take();
    }
    if (!whole && !out->modified(now)) Py_RETURN_NONE;
    switch (out->kind) {
        case Kind::bundle:
        case Kind::list: {
            auto& group = static_cast<GroupOut&>(*out);
            ObjRef items = steal(PyDict_New());
            for (std::uint32_t i = 0; i < group.size(); ++i) {
                Out* child = parts == nullptr ? group.children[i] : parts->part(i);
                const bool full = parts == nullptr ? whole : all;
                if (child->valid() ? !full && !child->modified(now) : !emptied(child, now)) continue;
                const ObjRef item = steal(read_delta(child, now, full));
                const ObjRef key = out->kind == Kind::bundle
                                       ? ObjRef(out->type->name_objects[i].get())
                                       : steal(PyLong_FromUnsignedLong(i));
                check(PyDict_SetItem(items.get(), key.get(), item.get()));
            }
            return items.take();
        }
        case Kind::dict:
            return dict_delta(static_cast<DictOut&>(*out), now, whole, before);
        case Kind::set:
            return set_delta(static_cast<SetOut&>(*out), now, whole, before);
        case Kind::window: {
            const auto& window = static_cast<WindowOut&>(*out);
            if (window.size() == 0) Py_RETURN_NONE;
            return borrowed(window.values.back().get());
        }
        case Kind::signal:
            Py_RETURN_TRUE;
        default:
            return borrowed(as_scalar(*out).object());
    }
}

// --- writing -----------------------------------------------------------------------------------

namespace {

[[noreturn]] void refuse(const Out& out, PyObject* value) {
    PyObject* wanted = out.type->scalar_type ? out.type->scalar_type.get() : nullptr;
    if (wanted != nullptr && PyType_Check(wanted))
        PyErr_Format(PyExc_TypeError, "%R is a %s, but the output takes %s", value,
                     Py_TYPE(value)->tp_name, reinterpret_cast<PyTypeObject*>(wanted)->tp_name);
    else
        PyErr_Format(PyExc_TypeError, "the output cannot take %R (a %s)", value,
                     Py_TYPE(value)->tp_name);
    throw HostError();
}

// A list for a tuple and a set or list for a frozenset are kept as what the output takes.
ObjRef as_immutable(const ScalarOut& out, PyObject* value) {
    const PyObject* wanted = out.type->scalar_type.get();
    const bool list = PyList_Check(value);
    if (list && wanted == reinterpret_cast<PyObject*>(&PyTuple_Type))
        return steal(PyList_AsTuple(value));
    if ((list || PyAnySet_Check(value)) && wanted == reinterpret_cast<PyObject*>(&PyFrozenSet_Type))
        return steal(PyFrozenSet_New(value));
    refuse(out, value);
}

void apply_scalar(ScalarOut& out, PyObject* value, Time now) {
    switch (out.type->scalar) {
        case Scalar::integer: {
            if (!PyLong_Check(value)) {
                if (PyFloat_Check(value) || !PyIndex_Check(value)) refuse(out, value);
                const ObjRef index = steal(PyNumber_Index(value));
                apply_scalar(out, index.get(), now);
                return;
            }
            int overflow = 0;
            const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
            if (overflow != 0) {
                PyErr_Format(PyExc_OverflowError,
                             "%R does not fit the 64 bits of a time series of int", value);
                throw HostError();
            }
            out.raw.i = number;
            if (PyBool_Check(value)) {
                out.set_int(number, now);
                return;
            }
            break;
        }
        case Scalar::real:
            if (PyFloat_CheckExact(value)) {
                out.raw.f = PyFloat_AS_DOUBLE(value);
                break;
            }
            if (PyUnicode_Check(value) || PyBytes_Check(value)) refuse(out, value);
            {
                const double number = PyFloat_AsDouble(value);
                if (number == -1.0 && PyErr_Occurred() != nullptr) {
                    PyErr_Clear();
                    refuse(out, value);
                }
                out.set_real(number, now);
            }
            return;
        case Scalar::boolean:
            if (!PyBool_Check(value)) {
                const ObjRef name = steal(PyObject_GetAttrString(
                    reinterpret_cast<PyObject*>(Py_TYPE(value)), "__name__"));
                if (PyUnicode_CompareWithASCIIString(name.get(), "bool_") != 0 &&
                    PyUnicode_CompareWithASCIIString(name.get(), "bool") != 0)
                    refuse(out, value);
                out.set_bool(PyObject_IsTrue(value) == 1, now);
                return;
            }
            out.raw.b = value == Py_True;
            break;
        default: {
            PyObject* wanted = out.type->scalar_type.get();
            if (wanted != nullptr && PyType_Check(wanted) &&
                reinterpret_cast<PyTypeObject*>(wanted) != Py_TYPE(value) &&
                !PyType_IsSubtype(Py_TYPE(value), reinterpret_cast<PyTypeObject*>(wanted))) {
                const int is = PyObject_IsInstance(value, wanted);
                check(is);
                if (is == 0) {
                    out.set_object(as_immutable(out, value), now);
                    return;
                }
            }
        }
    }
    out.set_object(ObjRef(value), now);
}

void apply_bundle(GroupOut& group, PyObject* value, Time now) {
    const TsType& type = *group.type;
    if (PyDict_Check(value)) {
        Py_ssize_t at = 0;
        PyObject* key = nullptr;
        PyObject* item = nullptr;
        while (PyDict_Next(value, &at, &key, &item) != 0) {
            std::uint32_t i = 0;
            for (; i < group.size(); ++i)
                if (type.name_objects[i].get() == key ||
                    host.equal(type.name_objects[i].get(), key))
                    break;
            if (i == group.size()) {
                PyErr_Format(PyExc_KeyError, "the bundle has no field %R", key);
                throw HostError();
            }
            if (item != Py_None) apply(*group.children[i], item, now);
        }
        return;
    }
    if (PyTuple_Check(value) || PyList_Check(value)) {
        const Py_ssize_t count = PySequence_Size(value);
        if (count != static_cast<Py_ssize_t>(group.size())) refuse(group, value);
        for (Py_ssize_t i = 0; i < count; ++i) {
            const ObjRef item = steal(PySequence_GetItem(value, i));
            if (item.get() != Py_None)
                apply(*group.children[static_cast<std::size_t>(i)], item.get(), now);
        }
        return;
    }
    if (PyMapping_Check(value) != 0 && PyObject_HasAttrString(value, "items") != 0) {
        const ObjRef dict = steal(PyObject_CallFunctionObjArgs(
            reinterpret_cast<PyObject*>(&PyDict_Type), value, nullptr));
        apply_bundle(group, dict.get(), now);
        return;
    }
    bool any = false;
    for (std::uint32_t i = 0; i < group.size(); ++i) {
        PyObject* item = PyObject_GetAttr(value, type.name_objects[i].get());
        if (item == nullptr) {
            if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw HostError();
            PyErr_Clear();
            continue;
        }
        const ObjRef kept = ObjRef::steal(item);
        any = true;
        if (item != Py_None) apply(*group.children[i], item, now);
    }
    if (!any) refuse(group, value);
}

void apply_list(GroupOut& group, PyObject* value, Time now) {
    const auto put = [&](std::int64_t i, PyObject* item) {
        const bool fixed = group.type->size != 0;
        if (i < 0 || (fixed && i >= static_cast<std::int64_t>(group.size()))) {
            PyErr_Format(PyExc_IndexError, "index %lld is outside a list of %u time series",
                         static_cast<long long>(i), group.size());
            throw HostError();
        }
        if (item != Py_None) apply(*group.grow(static_cast<std::uint32_t>(i)), item, now);
    };
    if (PyDict_Check(value)) {
        Py_ssize_t at = 0;
        PyObject* key = nullptr;
        PyObject* item = nullptr;
        while (PyDict_Next(value, &at, &key, &item) != 0) {
            const Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError);
            if (i == -1 && PyErr_Occurred() != nullptr) throw HostError();
            put(i, item);
        }
        return;
    }
    if (PyMapping_Check(value) != 0 && PySequence_Check(value) == 0) {
        const ObjRef dict = steal(PyObject_CallFunctionObjArgs(
            reinterpret_cast<PyObject*>(&PyDict_Type), value, nullptr));
        apply_list(group, dict.get(), now);
        return;
    }
    if (PyUnicode_Check(value) || PySequence_Check(value) == 0) refuse(group, value);
    const ObjRef items = steal(PySequence_Fast(value, "a list of values is needed"));
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.get());
    for (Py_ssize_t i = 0; i < count; ++i) put(i, PySequence_Fast_GET_ITEM(items.get(), i));
}

void apply_dict(DictOut& dict, PyObject* value, Time now) {
    ObjRef kept;
    if (!PyDict_Check(value)) {
        kept = steal(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyDict_Type), value,
                                                  nullptr));
        value = kept.get();
    }
    Py_ssize_t at = 0;
    PyObject* key = nullptr;
    PyObject* item = nullptr;
    while (PyDict_Next(value, &at, &key, &item) != 0) {
        if (item == Py_None) continue;
        if (item == symbols.remove || item == symbols.remove_if_exists) {
            if (!dict.erase(key, now) && item == symbols.remove) {
                PyErr_Format(PyExc_KeyError,
                             "REMOVE of the key %R, which is not there (REMOVE_IF_EXISTS allows it)",
                             key);
                throw HostError();
            }
            continue;
        }
        apply(*dict.create(key, now), item, now);
    }
    // An empty change makes an output valid, and is no change after that.
    if (!dict.valid() && PyDict_GET_SIZE(value) == 0) {
        dict.key_set.mark(now);
        dict.mark(now);
    }
}

void apply_set(SetOut& set, PyObject* value, Time now) {
    if (PyUnicode_Check(value) || PyBytes_Check(value)) refuse(set, value);
    const auto* removed_type = reinterpret_cast<PyTypeObject*>(symbols.removed_type);
    const bool replaces = PyFrozenSet_CheckExact(value);
    ObjRef items = steal(PySequence_List(value));
    const Py_ssize_t count = PyList_GET_SIZE(items.get());
    if (count > 1 && PyAnySet_CheckExact(value) && PyList_Sort(items.get()) != 0) {
        // A plain set has the order of its hashes: sort it, by how it is written if need be.
        PyErr_Clear();
        items = steal(PyObject_CallOneArg(symbols.ordered, items.get()));
    }
    if (replaces) {
        bool marked = false;
        for (Py_ssize_t i = 0; i < count && !marked; ++i)
            marked = Py_TYPE(PyList_GET_ITEM(items.get(), i)) == removed_type;
        if (!marked)
            for (std::uint32_t at = 0; at < set.keys.slots(); ++at)
                if (set.keys.live(at)) {
                    const int held = PySet_Contains(value, set.keys.key(at));
                    check(held);
                    if (held == 0) {
                        const ObjRef key(set.keys.key(at));
                        set.remove(key.get(), now);
                    }
                }
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* item = PyList_GET_ITEM(items.get(), i);
        if (Py_TYPE(item) == removed_type) {
            const ObjRef key = steal(PyObject_GetAttrString(item, "item"));
            set.remove(key.get(), now);
        } else {
            set.add(item, now);
        }
    }
    if (!set.valid()) set.mark(now);
}

void apply_reference(ScalarOut& out, PyObject* value, Time now) {
    if (Py_TYPE(value) == reference_type) {
        out.set_object(ObjRef(value), now);
    } else if (PyObject_TypeCheck(value, view_type)) {
        Out* to = out_of(reinterpret_cast<View*>(value));
        out.set_object(ObjRef::steal(make_reference(to == nullptr ? nullptr : to->resolve())), now);
    } else {
        refuse(out, value);
    }
}

}  // namespace

void apply(Out& out, PyObject* value, Time now) {
    if (out.is_link) {
        Out* to = out.resolve();
        if (to == nullptr) {
            PyErr_SetString(PyExc_RuntimeError, "this output leads nowhere and cannot be written");
            throw HostError();
        }
        apply(*to, value, now);
        return;
    }
    if (PyObject_TypeCheck(value, view_type) && out.kind != Kind::ref) {
        // A node that returns one of its inputs returns what changed in it.
        Out* from = out_of(reinterpret_cast<View*>(value));
        if (from == nullptr || !from->valid()) return;
        const ObjRef delta = steal(from->modified(now) ? read_delta(from, now) : read_value(from, now));
        if (delta.get() != Py_None) apply(out, delta.get(), now);
        return;
    }
    switch (out.kind) {
        case Kind::bundle:
            apply_bundle(static_cast<GroupOut&>(out), value, now);
            return;
        case Kind::list:
            apply_list(static_cast<GroupOut&>(out), value, now);
            return;
        case Kind::dict:
            apply_dict(static_cast<DictOut&>(out), value, now);
            return;
        case Kind::set:
            apply_set(static_cast<SetOut&>(out), value, now);
            return;
        case Kind::window: {
            static_cast<WindowOut&>(out).push(ObjRef(value), now);
            return;
        }
        case Kind::ref:
            apply_reference(as_scalar(out), value, now);
            return;
        default:
            apply_scalar(as_scalar(out), value, now);
    }
}

bool can_apply(Out& out, Time now) { return !out.modified(now); }

// --- references --------------------------------------------------------------------------------

PyTypeObject* reference_type = nullptr;

PyObject* make_reference(Out* out) {
    auto* reference = PyObject_GC_New(Reference, reference_type);
    if (reference == nullptr) throw HostError();
    reference->handle = out == nullptr ? nullptr : out->handle();
    PyObject_GC_Track(reinterpret_cast<PyObject*>(reference));
    return reinterpret_cast<PyObject*>(reference);
}

Out* follow_reference(PyObject* object) {
    if (object == nullptr || Py_TYPE(object) != reference_type) return nullptr;
    const auto* reference = reinterpret_cast<Reference*>(object);
    return reference->handle == nullptr ? nullptr : reference->handle->out;
}

}  // namespace mainspring::graph::py

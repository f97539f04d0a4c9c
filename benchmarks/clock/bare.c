/* What cannot be beaten: the same Python functions called from a C loop, and a bare sleep loop. */
#include <Python.h>
#include <stdlib.h>
#include <time.h>

static long long now_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* call(function, argument, times) -> ns for one call */
static PyObject *call(PyObject *self, PyObject *args) {
    PyObject *function, *argument;
    long long times;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOL", &function, &argument, &times)) return NULL;
    PyObject *arguments[2] = {NULL, argument};
    long long start = now_ns(CLOCK_MONOTONIC);
    for (long long i = 0; i < times; ++i) {
        PyObject *result = PyObject_Vectorcall(function, arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        if (result == NULL) return NULL;
        Py_DECREF(result);
    }
    return PyFloat_FromDouble((double)(now_ns(CLOCK_MONOTONIC) - start) / (double)times);
}

/* sleep_loop(period_ns, times) -> list of lateness in ns */
static PyObject *sleep_loop(PyObject *self, PyObject *args) {
    long long period, times;
    (void)self;
    if (!PyArg_ParseTuple(args, "LL", &period, &times)) return NULL;
    long long *late = malloc((size_t)times * sizeof *late);
    Py_BEGIN_ALLOW_THREADS
    long long start = now_ns(CLOCK_MONOTONIC);
    for (long long i = 0; i < times; ++i) {
        long long wanted = start + (i + 1) * period;
        struct timespec until = {wanted / 1000000000LL, wanted % 1000000000LL};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        late[i] = now_ns(CLOCK_MONOTONIC) - wanted;
    }
    Py_END_ALLOW_THREADS
    PyObject *list = PyList_New((Py_ssize_t)times);
    for (long long i = 0; i < times; ++i) PyList_SET_ITEM(list, (Py_ssize_t)i, PyLong_FromLongLong(late[i]));
    free(late);
    return list;
}

static PyMethodDef methods[] = {{"call", call, METH_VARARGS, NULL},
                                {"sleep_loop", sleep_loop, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "bare", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_bare(void) { return PyModule_Create(&module); }

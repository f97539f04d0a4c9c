"""The names of the operators, before anything overloads them.

An operator is a name; what it does for given types is its overloads, here and in a user's own code. Python's
symbols on ports (``a + b``, ``a[key]``, ``-a``, ``a.field``) wire the operator of the same meaning.
"""

from mainspring.graph.operators._base import declare

_TWO = ("lhs", "rhs")

# --- arithmetic, bits ---------------------------------------------------------------------------------
add_ = declare("add_", "The sum of two values; text, tuples and spans of time are joined.", _TWO)
sub_ = declare("sub_", "What is left of the first without the second.", _TWO)
mul_ = declare("mul_", "The product of two values; text and tuples are repeated.", _TWO)
div_ = declare("div_", "The quotient; `divide_by_zero` says what a zero divisor gives.", _TWO)
floordiv_ = declare("floordiv_", "The quotient rounded toward negative infinity.", _TWO)
mod_ = declare("mod_", "What floor division leaves, with the divisor's sign.", _TWO)
divmod_ = declare("divmod_", "Floor quotient and remainder together, as a list of two.", _TWO)
pow_ = declare("pow_", "The first to the power of the second.", _TWO)
lshift_ = declare(
    "lshift_", "Bits shifted to the left; what does not fit 64 bits is an error.", _TWO
)
rshift_ = declare("rshift_", "Bits shifted to the right.", _TWO)
bit_and = declare(
    "bit_and", "The bits both have; of sets and dictionaries, the keys both have.", _TWO
)
bit_or = declare(
    "bit_or", "The bits either has; of sets and dictionaries, the keys either has.", _TWO
)
bit_xor = declare(
    "bit_xor", "The bits one alone has; of sets and dictionaries, the keys one alone has.", _TWO
)
neg_ = declare("neg_", "The value with its sign turned.")
pos_ = declare("pos_", "The value as it is.")
abs_ = declare("abs_", "The value without its sign.")
invert_ = declare("invert_", "The value with every bit turned.")
sign = declare("sign", "-1 for what is negative, 1 for everything else.")
ln = declare("ln", "The natural logarithm.")
round_ = declare("round_", "The value rounded to so many digits, a tie going to the even one.")

# --- comparison, truth -----------------------------------------------------------------------------------
eq_ = declare(
    "eq_", "True when both are equal; floats, when no further apart than `epsilon` (1e-10).", _TWO
)
ne_ = declare("ne_", "True when they are not equal.", _TWO)
lt_ = declare("lt_", "True when the first is less.", _TWO)
le_ = declare("le_", "True when the first is less or equal.", _TWO)
gt_ = declare("gt_", "True when the first is greater.", _TWO)
ge_ = declare("ge_", "True when the first is greater or equal.", _TWO)
cmp_ = declare("cmp_", "How two values stand to each other, as a `CmpResult`.", _TWO)
and_ = declare("and_", "True when both are true; zero and what is empty are false.", _TWO)
or_ = declare("or_", "True when either is true; zero and what is empty are false.", _TWO)
not_ = declare("not_", "True when it is false; zero and what is empty are false.")
all_ = declare("all_", "True when every one is true; one without a value is not.")
any_ = declare("any_", "True when one of them is true.")

# --- parts and size ----------------------------------------------------------------------------------------
getattr_ = declare("getattr_", "The field or attribute with a name.")
setattr_ = declare("setattr_", "The value with one field replaced.")
getitem_ = declare("getitem_", "The element at a key or place.", _TWO)
contains_ = declare("contains_", "Whether the second is in the first.", _TWO)
index_of = declare("index_of", "The first place of an item, or -1.", _TWO)
len_ = declare("len_", "The number of elements.")
is_empty = declare("is_empty", "Whether there are no elements.")
str_ = declare("str_", "The value as text.")
type_ = declare("type_", "The type of the value.")

# --- text -----------------------------------------------------------------------------------------------------
format_ = declare("format_", "Values filled into a pattern, as `str.format` does.")
join = declare("join", "Texts put together with a separator between them.")
split = declare(
    "split", "The parts of a text between separators: `split[TS[tuple[str, ...]]](s, ',')`."
)
substr = declare("substr", "The text from one place to another.")
match_ = declare("match_", "Whether a pattern is in a text, and its groups.")
replace = declare("replace", "The text with what a pattern matches replaced.")

# --- dates and times ----------------------------------------------------------------------------------------
year = declare("year", "The year of a date or time.")
month = declare("month", "The month of a date or time, from 1.")
month_of_year = declare("month_of_year", "The month of a date or time, from 1.")
day = declare("day", "The day of the month, from 1.")
day_of_month = declare("day_of_month", "The day of the month, from 1.")
weekday = declare("weekday", "The day of the week, Monday being 0.")
isoweekday = declare("isoweekday", "The day of the week, Monday being 1.")
isoformat = declare("isoformat", "The date as ISO 8601 text.")
hour = declare("hour", "The hour.")
minute = declare("minute", "The minute.")
second = declare("second", "The second.")
microsecond = declare("microsecond", "The microsecond.")
timestamp = declare("timestamp", "Seconds since 1970, UTC.")
datepart = declare("datepart", "The midnight a day began with.")
days = declare("days", "The whole days of a span of time, toward negative infinity.")
seconds = declare("seconds", "The seconds of a span of time beyond its days.")
microseconds = declare("microseconds", "The microseconds of a span of time beyond its seconds.")
total_seconds = declare("total_seconds", "A span of time in seconds.")
explode = declare("explode", "Year, month and day as a list of three.")
temporal_floor = declare("temporal_floor", "The greatest multiple of a quantum that is not later.")
temporal_ceil = declare("temporal_ceil", "The least multiple of a quantum that is not earlier.")
temporal_round = declare("temporal_round", "The nearest multiple of a quantum.")
evaluation_time_in_range = declare(
    "evaluation_time_in_range", "Whether it is before, in or after a range of time."
)
last_modified_time = declare("last_modified_time", "When each tick was.")
last_modified_date = declare("last_modified_date", "The date of each tick.")
last_modified_wall_clock_time = declare(
    "last_modified_wall_clock_time", "What the wall clock showed at each tick."
)

# --- sets and dictionaries --------------------------------------------------------------------------------
union = declare("union", "What is in any of them.", _TWO)
intersection = declare("intersection", "What is in all of them.", _TWO)
difference = declare("difference", "What is in the first and not in the second.", _TWO)
symmetric_difference = declare("symmetric_difference", "What is in an odd number of them.", _TWO)
keys_ = declare("keys_", "The keys of a dictionary.")
values_ = declare("values_", "The values of a dictionary.")
flip = declare("flip", "Values become keys and keys values.")
flip_keys = declare("flip_keys", "Outer keys become inner ones and inner keys outer ones.")
collapse_keys = declare("collapse_keys", "Two levels of keys become one of pairs.")
uncollapse_keys = declare("uncollapse_keys", "Pairs of keys become two levels.")
rekey = declare("rekey", "Each value under its key's new key.")
partition = declare("partition", "A dictionary for each part of the keys.")
unpartition = declare("unpartition", "The keys of all parts in one dictionary.")
make_tsd = declare("make_tsd", "A dictionary of one key.")
reduce_tsd_with_race = declare("reduce_tsd_with_race", "The first valid element of a dictionary.")
reduce_tsd_of_bundles_with_race = declare(
    "reduce_tsd_of_bundles_with_race", "For each field, the first valid one of the elements."
)

# --- choice -----------------------------------------------------------------------------------------------
if_ = declare("if_", "The time series on the side, `true` or `false`, that a condition picks.")
if_then_else = declare("if_then_else", "One time series while a condition holds, else the other.")
if_true = declare("if_true", "A tick whenever a condition ticks true, or only the first time.")
if_cmp = declare("if_cmp", "One of three time series, by a `CmpResult`.")
route_by_index = declare("route_by_index", "The time series at the place of a list an index picks.")
merge = declare(
    "merge", "The first of several that ticks in a cycle; of dictionaries, all keys.", _TWO
)
race = declare("race", "The first of several to have a value.")
default = declare("default", "A value while there is no other.")

# --- ticks in time --------------------------------------------------------------------------------------
filter_ = declare("filter_", "Ticks while a condition holds.")
until_true = declare("until_true", "Ticks up to the first that is true.")
freeze = declare("freeze", "Ticks up to the cycle a predicate is true in.")
take = declare("take", "The first ticks, or those of a first span of time.")
drop = declare("drop", "All but the first ticks, or those of a first span of time.")
step = declare("step", "Every so manyth tick.")
slice_ = declare("slice_", "The ticks at the places of a slice.")
dedup = declare("dedup", "Ticks that differ from the one before.")
lag = declare("lag", "Ticks later by a number of ticks or a span of time.")
gate = declare("gate", "Ticks queued while a condition does not hold.")
batch = declare("batch", "Ticks gathered and let out together.")
throttle = declare("throttle", "At most one tick in a period.")
resample = declare("resample", "A tick in every period.")
sample = declare("sample", "The value whenever a signal ticks.")
schedule = declare("schedule", "A tick in every period, by itself.")
to_window = declare("to_window", "The last values, as a window.")
window = declare("window", "The last values and when they ticked, as a bundle.")
valid = declare("valid", "Whether there is a value.")
modified = declare("modified", "True in a cycle with a tick, false in the next.")

# --- statistics -------------------------------------------------------------------------------------------
sum_ = declare("sum_", "The sum: running, of a collection, or of several.", _TWO)
mean = declare("mean", "The mean: running, of a collection, or of several.", _TWO)
min_ = declare("min_", "The least: running, of a collection, or of several.", _TWO)
max_ = declare("max_", "The greatest: running, of a collection, or of several.", _TWO)
std = declare("std", "The standard deviation: running, or of a collection.")
var = declare("var", "The variance: running, or of a collection.")
count = declare("count", "The number of ticks.")
diff = declare("diff", "The change since the tick before.")
clip = declare("clip", "The value kept between two bounds.")
ewma = declare("ewma", "The exponentially weighted mean.")
pct_change = declare("pct_change", "The change as a fraction of the value before.")
rolling_average = declare("rolling_average", "The mean of the last values.")
quantile = declare("quantile", "A quantile of the values kept.")

# --- references, arrays ---------------------------------------------------------------------------------
dereference = declare("dereference", "The parts of a bundle or list, as ports of their own.")
as_array = declare("as_array", "The values of a window as an array.", ("tsw",))
cumsum = declare("cumsum", "The sums up to each element of an array.", ("a",))
corrcoef = declare("corrcoef", "How the rows of arrays go together.", ("x",))
get_item = declare("get_item", "The element or part of an array at a place.")
np_std = declare("np_std", "The standard deviation of all elements of an array.")

# --- sources, sinks and calls ---------------------------------------------------------------------------
debug_print = declare("debug_print", "Prints every tick with a label and the time.")
print_ = declare("print_", "Prints a line whenever something in it ticks.")
log_ = declare("log_", "Logs a line whenever something in it ticks.")
assert_ = declare("assert_", "Fails when a condition is false.")
apply = declare("apply", "What a function that is itself a value gives.")
call = declare("call", "Calls a function that is itself a value.")
stop_engine = declare("stop_engine", "Asks the engine to stop.")

# --- conversion -------------------------------------------------------------------------------------------
convert_overloads = declare("convert", "Conversions that a user adds.")

__all__ = [
    "abs_",
    "add_",
    "all_",
    "and_",
    "any_",
    "apply",
    "as_array",
    "assert_",
    "batch",
    "bit_and",
    "bit_or",
    "bit_xor",
    "call",
    "clip",
    "cmp_",
    "collapse_keys",
    "contains_",
    "corrcoef",
    "count",
    "cumsum",
    "datepart",
    "day",
    "day_of_month",
    "days",
    "debug_print",
    "dedup",
    "default",
    "dereference",
    "diff",
    "difference",
    "div_",
    "divmod_",
    "drop",
    "eq_",
    "evaluation_time_in_range",
    "ewma",
    "explode",
    "filter_",
    "flip",
    "flip_keys",
    "floordiv_",
    "format_",
    "freeze",
    "gate",
    "ge_",
    "get_item",
    "getattr_",
    "getitem_",
    "gt_",
    "hour",
    "if_",
    "if_cmp",
    "if_then_else",
    "if_true",
    "index_of",
    "intersection",
    "invert_",
    "is_empty",
    "isoformat",
    "isoweekday",
    "join",
    "keys_",
    "lag",
    "last_modified_date",
    "last_modified_time",
    "last_modified_wall_clock_time",
    "le_",
    "len_",
    "ln",
    "log_",
    "lshift_",
    "lt_",
    "make_tsd",
    "match_",
    "max_",
    "mean",
    "merge",
    "microsecond",
    "microseconds",
    "min_",
    "minute",
    "mod_",
    "modified",
    "month",
    "month_of_year",
    "mul_",
    "ne_",
    "neg_",
    "not_",
    "np_std",
    "or_",
    "partition",
    "pct_change",
    "pos_",
    "pow_",
    "print_",
    "quantile",
    "race",
    "reduce_tsd_of_bundles_with_race",
    "reduce_tsd_with_race",
    "rekey",
    "replace",
    "resample",
    "rolling_average",
    "round_",
    "route_by_index",
    "rshift_",
    "sample",
    "schedule",
    "second",
    "seconds",
    "setattr_",
    "sign",
    "slice_",
    "split",
    "std",
    "step",
    "stop_engine",
    "str_",
    "sub_",
    "substr",
    "sum_",
    "symmetric_difference",
    "take",
    "temporal_ceil",
    "temporal_floor",
    "temporal_round",
    "throttle",
    "timestamp",
    "to_window",
    "total_seconds",
    "type_",
    "uncollapse_keys",
    "union",
    "unpartition",
    "until_true",
    "valid",
    "values_",
    "var",
    "weekday",
    "window",
    "year",
]

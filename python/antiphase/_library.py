# SPDX-License-Identifier: Apache-2.0
"""ctypes binding of libantiphase.so.0: its location, functions and argument structs; errors as exceptions."""
import ctypes
import os
import threading

VERSION = "0.1.0"

CPU = -1
CURRENT_DEVICE = -2
REPEATED = (1 << 63) - 1  # the stride that stands for 0

_OK = 0


def lock():
    """A lock that os.fork() takes and releases: a child finds it free and the guarded state consistent."""
    made = threading.RLock()
    os.register_at_fork(before=made.acquire, after_in_parent=made.release, after_in_child=made.release)
    return made


class Remembered(dict):
    """What was worked out for calls, by all that it follows from; when it is full, it begins anew."""

    MOST = 4096

    def __init__(self):
        super().__init__()
        self.change = lock()

    def keep(self, key, made):
        with self.change:
            if len(self) >= self.MOST:
                self.clear()
            self[key] = made
        return made


class SgemmArgs(ctypes.Structure):
    """antiphase_sgemm_args of antiphase.h, member for member."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("device", ctypes.c_int32),
        ("precision", ctypes.c_int32),
        ("m", ctypes.c_int64),
        ("n", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("a", ctypes.c_void_p),
        ("a_row_stride", ctypes.c_int64),
        ("a_column_stride", ctypes.c_int64),
        ("b", ctypes.c_void_p),
        ("b_row_stride", ctypes.c_int64),
        ("b_column_stride", ctypes.c_int64),
        ("c", ctypes.c_void_p),
        ("c_row_stride", ctypes.c_int64),
        ("c_column_stride", ctypes.c_int64),
        ("alpha", ctypes.c_float),
        ("beta", ctypes.c_float),
        ("batch", ctypes.c_int64),
        ("a_batch_stride", ctypes.c_int64),
        ("b_batch_stride", ctypes.c_int64),
        ("c_batch_stride", ctypes.c_int64),
        ("row_bias", ctypes.c_void_p),
        ("column_bias", ctypes.c_void_p),
        ("row_bias_batch_stride", ctypes.c_int64),
        ("column_bias_batch_stride", ctypes.c_int64),
        ("function", ctypes.c_int32),
        ("reproducible", ctypes.c_int32),
        ("if_weaker", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("policy", ctypes.c_char_p),
        ("workspace", ctypes.c_void_p),
        ("workspace_size", ctypes.c_size_t),
    ]


class ScanArgs(ctypes.Structure):
    """antiphase_scan_args of antiphase.h, member for member."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("device", ctypes.c_int32),
        ("type", ctypes.c_int32),
        ("input", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("outer", ctypes.c_int64),
        ("length", ctypes.c_int64),
        ("inner", ctypes.c_int64),
        ("operation", ctypes.c_int32),
        ("kind", ctypes.c_int32),
        ("direction", ctypes.c_int32),
        ("result_type", ctypes.c_int32),
        ("initial", ctypes.c_void_p),
        ("keys", ctypes.c_void_p),
        ("key_type", ctypes.c_int32),
        ("segments", ctypes.c_int32),
        ("policy", ctypes.c_char_p),
        ("workspace", ctypes.c_void_p),
        ("workspace_size", ctypes.c_size_t),
    ]


def _strided(name, *strides):
    """A struct of an address and strides."""
    fields = [("data", ctypes.c_void_p), *((f"{of}_stride", ctypes.c_int64) for of in strides)]
    return type(name, (ctypes.Structure,), {"_fields_": fields})


_Heads = _strided("_Heads", "member", "head", "row")
_Pairs = _strided("_Pairs", "member", "head", "query", "key")


class AttentionArgs(ctypes.Structure):
    """antiphase_attention_args of antiphase.h, member for member."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("device", ctypes.c_int32),
        ("causal", ctypes.c_int32),
        ("members", ctypes.c_int64),
        ("heads", ctypes.c_int64),
        ("kv_heads", ctypes.c_int64),
        ("queries", ctypes.c_int64),
        ("keys", ctypes.c_int64),
        ("depth", ctypes.c_int64),
        ("q", _Heads),
        ("k", _Heads),
        ("v", _Heads),
        ("out", _Heads),
        ("scale", ctypes.c_float),
        ("scale_given", ctypes.c_int32),
        ("window_before", ctypes.c_int64),
        ("window_behind", ctypes.c_int64),
        ("bias", _Pairs),
        ("visible", _Pairs),
        ("query_offsets", ctypes.c_void_p),
        ("key_offsets", ctypes.c_void_p),
        ("query_rows", ctypes.c_int64),
        ("key_rows", ctypes.c_int64),
        ("logsumexp", ctypes.c_void_p),
        ("softmax", ctypes.c_void_p),
        ("policy", ctypes.c_char_p),
        ("workspace", ctypes.c_void_p),
        ("workspace_size", ctypes.c_size_t),
        ("out_gradient", _Heads),
        ("q_gradient", _Heads),
        ("k_gradient", _Heads),
        ("v_gradient", _Heads),
        ("bias_gradient", _Pairs),
        ("logsumexp_stride", ctypes.c_int64),
    ]


class _LinearOperand(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("row_stride", ctypes.c_int64),
        ("k_stride", ctypes.c_int64),
        ("member_stride", ctypes.c_int64),
    ]


class LinearArgs(ctypes.Structure):
    """antiphase_linear_args of antiphase.h, member for member."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("device", ctypes.c_int32),
        ("type", ctypes.c_int32),
        ("result_type", ctypes.c_int32),
        ("function", ctypes.c_int32),
        ("m", ctypes.c_int64),
        ("n", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("members", ctypes.c_int64),
        ("x", _LinearOperand),
        ("w", _LinearOperand),
        ("y", ctypes.c_void_p),
        ("y_row_stride", ctypes.c_int64),
        ("y_member_stride", ctypes.c_int64),
        ("bias", ctypes.c_void_p),
        ("bias_member_stride", ctypes.c_int64),
        ("residual", ctypes.c_void_p),
        ("residual_row_stride", ctypes.c_int64),
        ("residual_member_stride", ctypes.c_int64),
        ("group_ends", ctypes.c_void_p),
        ("kernel", ctypes.c_char_p),
        ("overlap", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


def _place():
    """ANTIPHASE_LIBRARY, else the library in the package, else the name for the loader's search path."""
    named = os.environ.get("ANTIPHASE_LIBRARY")
    if named:
        return named
    packaged = os.path.join(os.path.dirname(__file__), "lib", "libantiphase.so.0")
    return packaged if os.path.exists(packaged) else "libantiphase.so.0"


def tool():
    """The program antiphase of the wheel; None if the package was installed without."""
    packaged = os.path.join(os.path.dirname(__file__), "bin", "antiphase")
    return packaged if os.path.exists(packaged) else None


def _load():
    place = _place()
    try:
        library = ctypes.CDLL(place)
        found = library.antiphase_version()
    except (OSError, AttributeError) as error:
        raise ImportError(
            f"antiphase: its library {place} cannot be loaded ({error}): expected libantiphase.so.0 in the package, "
            "or where ANTIPHASE_LIBRARY says"
        ) from None
    # Before 1.0 a minor version may change the interface; a patch version may add members and functions.
    major, minor, patch = map(int, VERSION.split("."))
    if found // 100 != 100 * major + minor or found % 100 < patch:
        raise ImportError(
            f"antiphase: {place} is version {found // 10000}.{found // 100 % 100}.{found % 100}: "
            f"this package of version {VERSION} needs {major}.{minor}.{patch} or a later {major}.{minor}"
        )
    return place, library


PLACE, LIBRARY = _load()

sgemm = LIBRARY.antiphase_sgemm
scan = LIBRARY.antiphase_scan
synchronize_stream = LIBRARY.antiphase_synchronize
sgemm.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
# A second handle without argtypes: converting arguments takes half a call's time. It must be passed byref()
# of the arguments, and a c_void_p or None.
sgemm_of_pointers = LIBRARY["antiphase_sgemm"]
scan_of_pointers = LIBRARY["antiphase_scan"]
scan.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
synchronize_stream.argtypes = [ctypes.c_int, ctypes.c_void_p]
set_interrupt_flag = LIBRARY.antiphase_set_interrupt_flag
set_interrupt_flag.argtypes, set_interrupt_flag.restype = [ctypes.c_void_p], None
_workspace = LIBRARY.antiphase_sgemm_workspace
_workspace.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)]
_sgemm_explain = LIBRARY.antiphase_sgemm_explain
_sgemm_explain.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
_scan_explain = LIBRARY.antiphase_scan_explain
_scan_explain.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
linear = LIBRARY.antiphase_linear
linear.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
_linear_explain = LIBRARY.antiphase_linear_explain
_linear_explain.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
attention, attention_backward = LIBRARY.antiphase_attention, LIBRARY.antiphase_attention_backward
for _call in (attention, attention_backward):
    _call.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
_attention_explain = LIBRARY.antiphase_attention_explain
_attention_explain.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
_attention_workspace = LIBRARY.antiphase_attention_workspace
_attention_workspace.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)]
_attention_predict = LIBRARY.antiphase_attention_predict
_attention_predict.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_double)]
_results = [ctypes.POINTER(ctypes.c_double)] * 2 + [ctypes.POINTER(ctypes.c_int)]
_torch_attention_compare = LIBRARY.antiphase_torch_attention_compare
_torch_attention_compare.argtypes = (
    [ctypes.c_int] * 2 + [ctypes.c_int64] * 5 + [ctypes.c_int] * 3 + [ctypes.c_double] + _results
)
_torch_scan_compare = LIBRARY.antiphase_torch_scan_compare
_torch_scan_compare.argtypes = [ctypes.c_int] * 2 + [ctypes.c_int64] * 3 + [ctypes.c_int] * 2 + _results
_advise = LIBRARY.antiphase_advise
_advise.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
LIBRARY.antiphase_last_message.restype = ctypes.c_char_p

# antiphase_status: the exception raised for it.
_EXCEPTIONS = {1: ValueError, 2: NotImplementedError, 3: RuntimeError, 4: MemoryError, 5: RuntimeError}


def shown(value):
    """repr() of a user's value for a message, cut to 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."


def check(status):
    """Raises the exception of a status other than 0, with the library's message."""
    if status != _OK:
        raise _EXCEPTIONS.get(status, RuntimeError)(
            "antiphase: " + LIBRARY.antiphase_last_message().decode(errors="replace")
        )


def workspace_bytes(args):
    """Bytes of workspace for a product with these arguments: 0, or enough for all smaller products too."""
    if text_of(args).partition("\n")[0].endswith(" 0 bytes of workspace"):
        return 0
    size = ctypes.c_size_t()
    check(_workspace(ctypes.addressof(args), ctypes.byref(size)))
    return size.value


def text_of(args):
    """The kernel that a call with these arguments would run, and why."""
    text = ctypes.create_string_buffer(16384)
    explain = {
        SgemmArgs: _sgemm_explain,
        ScanArgs: _scan_explain,
        AttentionArgs: _attention_explain,
        LinearArgs: _linear_explain,
    }
    check(explain[type(args)](ctypes.addressof(args), text, len(text)))
    return text.value.decode(errors="replace")


def attention_workspace(args):
    """Bytes of workspace for attention with these arguments, or for its gradients if they have any."""
    size = ctypes.c_size_t()
    check(_attention_workspace(ctypes.addressof(args), ctypes.byref(size)))
    return size.value


def attention_seconds(args):
    """Likewise, the predicted seconds."""
    seconds = ctypes.c_double()
    check(_attention_predict(ctypes.addressof(args), ctypes.byref(seconds)))
    return seconds.value


def _compared(function, *call):
    """(seconds of ours, of torch's, whether ours wins)"""
    ours, theirs, wins = ctypes.c_double(), ctypes.c_double(), ctypes.c_int()
    check(function(*call, ctypes.byref(ours), ctypes.byref(theirs), ctypes.byref(wins)))
    return ours.value, theirs.value, wins.value == 1


def compare_torch_attention(
    device, backward, members, heads, queries, keys, depth, causal, biased, launches, predicted
):
    """antiphase_torch_attention_compare() of a device by its number."""
    call = device, backward, members, heads, queries, keys, depth, causal, biased, launches, predicted
    return _compared(_torch_attention_compare, *call)


def compare_torch_scan(device, operation, outer, length, inner, read, written):
    """antiphase_torch_scan_compare() of a device by its number."""
    return _compared(_torch_scan_compare, device, operation, outer, length, inner, read, written)


def advice(question):
    """antiphase_advise()'s answer to a question; both are JSON."""
    text = ctypes.create_string_buffer(65536)
    check(_advise(question.encode(), text, len(text)))
    return text.value.decode()


def is_measured(device):
    """Whether predictions for a device, by its number, were fitted to measurements of such a GPU."""
    return LIBRARY.antiphase_is_measured(device) != 0


def device_count():
    """Number of CUDA devices; 0 without a driver."""
    return LIBRARY.antiphase_device_count()

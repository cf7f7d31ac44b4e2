# SPDX-License-Identifier: Apache-2.0
"""The start of `antiphase run` in a Python program: overrides torch's operators, and reports at the end."""
import atexit
import os
import sys

import torch

from . import _cublas, _torch_lead


def follow():
    """For a program that `antiphase run` has started: takes the operators, and tells at its end what became of
    them, as the library for cuBLAS does."""
    wish = os.environ.get("ANTIPHASE_REPORT", "")
    if os.environ.get("ANTIPHASE_DISABLE") == "1":
        return
    led = []
    invariant = os.environ.get("ANTIPHASE_BATCH_INVARIANT", "") not in ("", "0")
    if invariant:
        from ._torch_invariant import enable_batch_invariant_mode

        enable_batch_invariant_mode()  # attention, too
    if (
        not invariant
        and os.environ.get("ANTIPHASE_ATTENTION") != "0"
        and hasattr(torch.library, "get_kernel")
    ):
        from ._torch_lead_attention import attention

        led.append(attention)
    if os.environ.get("ANTIPHASE_SCANS") == "1":
        from ._torch_lead_scans import scans

        led.append(scans)
    for family in led:
        family.profiles = os.environ.get("ANTIPHASE_PROFILE") == "1"
        family.measured = _cublas.measured if family.profiles else None
        family.begin()

    def tell():
        name = f"antiphase[{os.getpid()}]"
        for family in led:
            if family.profiles and family.passed:
                print(f"{name}: {family.noun}\n{family.profile()}", file=sys.stderr)
        told = _torch_lead.report() or ("no scans of torch were seen" if len(led) > 1 else "")
        if wish != "0" and told and (wish == "1" or any(family.counts()[0] for family in led)):
            print(f"{name}: {told}", file=sys.stderr)

    atexit.register(tell)

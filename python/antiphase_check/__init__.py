# SPDX-License-Identifier: Apache-2.0
"""`antiphase check` for a project's CUDA programs: each.py is a command, plugin.py a plug-in of pytest.

A package of its own: importing `antiphase` loads its library, which no other run of pytest shall wait for.
"""

# SPDX-License-Identifier: Apache-2.0
"""Marks of figures that would be others today, and the lines that explain them."""

CODE, CHOICE = "†", "‡"
OF_CODE = f"{CODE} measured before the code changed."
OF_CHOICE = f"{CHOICE} measured with another policy than auto takes today; of means: some of the products."


class Marks:
    """`code`: a compiled_code.Judge, `choices`: a choices_today.Judge."""

    def __init__(self, code, choices):
        self.code, self.choices = code, choices

    def of(self, *figures):
        """What follows a number that was computed from our times of these figures."""
        code = f" {CODE}" if any(map(self.code.stale, figures)) else ""
        return code + (f" {CHOICE}" if any(map(self.choices.changed, figures)) else "")

    def of_choice(self, figure, way):
        """What follows a number of another way in which a figure's product was computed."""
        return f" {CHOICE}" if self.choices.changed(figure, way) else ""

    def notes(self, figures):
        """The lines below a table or picture of these figures."""
        figures = list(figures)
        code = [OF_CODE] if any(map(self.code.stale, figures)) else []
        return code + ([OF_CHOICE] if any(map(self.choices.any_changed, figures)) else [])

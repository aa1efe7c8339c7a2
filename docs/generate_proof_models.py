"""Write docs/proof_models.md: what rewriting leaves of the proof models, and how far they are from the textbook."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from ppl.rewrites.marginalization import words

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "proof_models.md"
EXAMPLE = ROOT / "examples" / "ten_models.py"
INTRODUCTION = """# The proof models

Ten kinds of models that rewriting shrinks, each at one point against a formula of its own: dense matrices,
enumeration, a recursion in NumPy. [The example](../examples/ten_models.py) holds models and formulas, and checks them
when it runs.

This page is written by `python docs/generate_proof_models.py`.

| model | as written | left | by | log-density | less the textbook's |
|---|---|---|---|---|---|
"""
ENDING = """
Laws of expressions of draws (sums, differences, minima, frontiers, reaction times) stand at the beginning of the
example. Long runs of the models as written agree with the recovered posteriors
(`tests/test_proof_models.py::test_recovered_posteriors_are_those_of_a_long_run_as_written`).

## What must not be rewritten

| control | what happens | test in `tests/test_proof_models.py` |
|---|---|---|
| two functions of the same draws | refused | test_two_functions_of_the_same_draws_have_no_product_of_densities |
| a latent in a potential | stays | test_what_has_no_theorem_stays[in_a_potential] |
| a latent in two children, not affine | stays | test_what_has_no_theorem_stays[in_two_nonlinear_children] |
| a draw that is broadcast | exact, or refused | test_a_draw_that_is_broadcast_is_not_many_draws |
| a scale that depends on the latent | stays | test_what_has_no_theorem_stays[in_a_scale] |
| a variable added to itself | exact | test_a_variable_added_to_itself_is_scaled |
| weights that are no probabilities | density 0, as written | test_weights_that_are_no_probabilities_have_no_density |
"""


def row(make: Any, check: Any) -> str:
    """A model in a line of the table."""
    proof = make()
    plan, found = check(proof)
    told = [step for step in plan.steps if step.eliminated or step.rule == words.STATISTICS]
    theorems = dict.fromkeys(step.rule for step in told)
    left = f"{plan.ndim}" + (f" ({', '.join(plan.free)})" if plan.free else "")
    cells = (
        (make.__doc__ or "").strip().rstrip("."), str(plan.ndim_before), left, ", ".join(theorems),
        f"{found:.6f}", f"{found - proof.expected:.0e}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def page() -> str:
    """The whole page."""
    example = runpy.run_path(str(EXAMPLE))
    return INTRODUCTION + "\n".join(row(make, example["checked"]) for make in example["MODELS"]) + "\n" + ENDING


if __name__ == "__main__":
    PAGE.write_text(page())

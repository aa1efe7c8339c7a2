"""Entering draws and data into a model by hand, and what the books say of values, by PyMC's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ppl.distributions import RandomVariable, is_draw
from ppl.distributions.draws.draw import renamed
from ppl.graph import ancestors, substitute
from ppl.model.inputs.observed import as_data
from ppl.model.inputs.observing import observe_variable
from ppl.model.posterior.density import Joint
from ppl.model.registry.rebuilding import law_of_expression
from ppl.model.registry.variable_registry import UNSET, Books
from ppl.tensor.core.names import named
from ppl.tensor.tensor import Tensor
from ppl.tensor.variables import Variable


class Registration(Books):
    """Draws, data and values of a model, entered and read one by one."""

    def register_rv(
        self,
        rv_var: Tensor,
        name: str,
        *,
        observed: Any = None,
        total_size: Any = None,
        dims: Any = None,
        default_transform: Any = UNSET,
        transform: Any = UNSET,
        initval: Any = None,
    ) -> Tensor:
        """Enter a draw made with `.dist(...)`, or an expression of such, under a name; returns the variable.

        What is registered later and was written with the draw or the expression depends on the variable.

        >>> with pm.Model() as model:
        ...     x = pm.math.exp(pm.Normal.dist())
        ...     y = pm.Normal.dist(x)
        ...     found = model.register_rv(x, "x"), model.register_rv(y, "y")
        >>> model["y"].inputs[0] is model["x"]
        True
        """
        full = self.check_name(name)
        entered = self.__dict__.setdefault("_entered", {})
        here = substitute(rv_var, entered) if isinstance(rv_var, Tensor) else rv_var
        if not isinstance(here, Tensor) or not any(is_draw(n) for n in ancestors([here], blockers={*self.basic_RVs})):
            raise TypeError(f"register_rv takes a draw made with .dist(...), or an expression of such, got {rv_var!r}")
        if not isinstance(here, RandomVariable):
            here = law_of_expression(here, [*self.basic_RVs, *self.data_vars])
        rv = entered[rv_var] = renamed(here, full)
        if observed is None:
            if total_size is not None:
                raise ValueError(f'"{full}": total_size says how much observed data count, and none are observed.')
            self.add_free(rv, dims, transform, default_transform, initval)
            return rv
        return observe_variable(self, rv, as_data(observed, full), dims, total_size, {"transform": transform})

    def make_obs_var(
        self, rv_var: RandomVariable, data: Any, dims: Any, default_transform: Any, transform: Any, total_size: Any
    ) -> Tensor:
        """Enter a named draw with its data; missing values become a variable."""
        options = {"transform": transform, "default_transform": default_transform}
        return observe_variable(self, rv_var, as_data(data, rv_var.name or ""), dims, total_size, options)

    def register_data_var(self, data: Variable, dims: Any = None) -> None:
        """Enter a variable that holds data under its name."""
        if not isinstance(data, Variable) or data.name is None:
            raise TypeError(
                f"register_data_var takes shared(value, name), got {data!r}. pm.Data(name, value) does both."
            )
        self.check_name(data.name)
        self.add_named_variable(data, dims)
        self.data_vars.append(data)

    def replace_rvs_by_values(self, graphs: Sequence[Tensor]) -> list[Any]:
        """Expressions of values, in place of the random variables."""
        joint = Joint(self)
        return [joint.at_values(graph) for graph in graphs]

    @property
    def unobserved_value_vars(self) -> list[Any]:
        """The values of free variables, then those that are transformed on their own scale, then the deterministics."""
        joint = Joint(self)
        bent = [rv for rv in self.free_RVs if self.rvs_to_transforms[rv] is not None]
        untransformed: list[Any] = [named(joint.values[rv], rv.name or "") for rv in bent]  # type: ignore[arg-type]
        return [*self.value_vars, *untransformed, *(joint.at_values(d) for d in self.deterministics)]

"""What can be wrong with an approximation, by PyMC's names."""


class VariationalInferenceError(Exception):
    """Something that variational inference cannot do."""


class NotImplementedInference(VariationalInferenceError, NotImplementedError):  # noqa: N818 (the name is PyMC's)
    """A combination of a method and a model that is not possible."""


class ExplicitInferenceError(VariationalInferenceError, TypeError):
    """The density of the approximation is needed, and it has none."""


class AEVBInferenceError(VariationalInferenceError, TypeError):
    """Parameters of an approximation that depend on data are not supported."""


class ParametrizationError(VariationalInferenceError, ValueError):
    """Variables or parameters that an approximation cannot have."""


class GroupError(VariationalInferenceError, TypeError):
    """Groups that overlap, or leave variables out."""

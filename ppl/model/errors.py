"""Errors and warnings by PyMC's names."""


class SamplingError(RuntimeError):
    """Sampling could not start or go on."""


class StartError(SamplingError, ValueError):
    """A start outside the support of a variable, or where the log-density is not finite."""


class CertificateError(SamplingError):
    """Draws that contradict the model as it is written: a fault of this package. `result` holds them."""

    def __init__(self, message: str, result: object = None) -> None:
        super().__init__(message)
        self.result = result


class ResultError(SamplingError):
    """Draws are made, but building the result failed. `draws` holds what the sampler moved and what was worked out from
    it before, `stats` the statistics, by name as (chains, draws, ...); `path` is the file they are saved in, if any."""

    def __init__(self, message: str, draws: object = None, stats: object = None, path: str | None = None) -> None:
        super().__init__(message)
        self.draws = draws
        self.stats = stats
        self.path = path


class IncorrectArgumentsError(ValueError):
    """Arguments that contradict each other."""


class _ToldError(ValueError):
    """An error that says, after its message, what was found and what was expected, where these are given."""

    def __init__(self, message: str = "", actual: object = None, expected: object = None) -> None:
        told = [f"{word} {value}" for word, value in (("expected", expected), ("got", actual)) if value is not None]
        super().__init__(f"{message} ({', '.join(told)})" if told else message)


class ShapeError(_ToldError):
    """Shapes that do not fit."""


class DtypeError(_ToldError):
    """Values of a kind that does not fit."""


class ShapeWarning(Warning):
    """Shapes that fit only after a change."""


class ImputationWarning(UserWarning):
    """Missing values became random variables."""


class DataError(ValueError):
    """Data that a model cannot have: outside the support, of the wrong kind, not finite."""


class ParameterValueError(ValueError):
    """A parameter outside its domain."""


class TraceDirectoryError(ValueError):
    """A directory of draws that is none, by PyMC's name; what `resume=` meets there is a `StorageError`."""

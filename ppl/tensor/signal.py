"""Signals, with the names and arguments of `scipy.signal`: convolutions of any rank, spectra, short-time transforms."""

from __future__ import annotations

from typing import Any

from ppl.tensor.core.later import Functions
from ppl.tensor.core.ops import JaxOp

_jss = Functions("jax.scipy.signal")

convolve = JaxOp("convolve_arrays", lambda a, b, *, mode="full": _jss.convolve(a, b, mode), to_float=True)
correlate = JaxOp("correlate_arrays", lambda a, b, *, mode="full": _jss.correlate(a, b, mode), to_float=True)
fftconvolve = JaxOp(
    "fftconvolve", lambda a, b, *, mode="full", axes=None: _jss.fftconvolve(a, b, mode, axes), to_float=True
)
convolve2d = JaxOp("convolve2d", lambda a, b, *, mode="full": _jss.convolve2d(a, b, mode), to_float=True)
correlate2d = JaxOp("correlate2d", lambda a, b, *, mode="full": _jss.correlate2d(a, b, mode), to_float=True)
detrend = JaxOp("detrend", lambda x, *, axis=-1, type="linear", bp=0: _jss.detrend(x, axis, type, bp), to_float=True)


def _stft(
    x: Any, *, fs: float = 1.0, window: str = "hann", nperseg: int = 256, noverlap: int | None = None,
    nfft: int | None = None, detrend: Any = False, return_onesided: bool = True, boundary: str | None = "zeros",
    padded: bool = True, axis: int = -1,
) -> Any:  # fmt: skip
    return _jss.stft(x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, boundary, padded, axis)


def _istft(
    z: Any, *, fs: float = 1.0, window: str = "hann", nperseg: int | None = None, noverlap: int | None = None,
    nfft: int | None = None, input_onesided: bool = True, boundary: bool = True, time_axis: int = -1,
    freq_axis: int = -2,
) -> Any:  # fmt: skip
    return _jss.istft(z, fs, window, nperseg, noverlap, nfft, input_onesided, boundary, time_axis, freq_axis)


def _csd(
    x: Any, y: Any, *, fs: float = 1.0, window: str = "hann", nperseg: int | None = None, noverlap: int | None = None,
    nfft: int | None = None, detrend: str = "constant", return_onesided: bool = True, scaling: str = "density",
    axis: int = -1, average: str = "mean",
) -> Any:  # fmt: skip
    return _jss.csd(x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


def _welch(
    x: Any, *, fs: float = 1.0, window: str = "hann", nperseg: int | None = None, noverlap: int | None = None,
    nfft: int | None = None, detrend: str = "constant", return_onesided: bool = True, scaling: str = "density",
    axis: int = -1, average: str = "mean",
) -> Any:  # fmt: skip
    return _jss.welch(x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


stft, istft = JaxOp("stft", _stft, to_float=True), JaxOp("istft", _istft, to_float=True)
csd, welch = JaxOp("csd", _csd, to_float=True), JaxOp("welch", _welch, to_float=True)

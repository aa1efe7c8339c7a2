"""Diagnostics against ArviZ to the last digits, and what users are told."""

import warnings

import numpy as np
import pytest

from ppl.samplers import sample
from ppl.samplers.programs.programs import Made
from ppl.samplers.runs import diagnostics as d
from ppl.samplers.runs.progress import ChainProgress, Lines, Report, Table, as_html, display_for, preparation, summary
from ppl.samplers.runs.run import ChainRecord, assemble

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    az = pytest.importorskip("arviz")

needs_arviz_0 = pytest.mark.skipif(
    not az.__version__.startswith("0."), reason="the oracle is ArviZ 0, whose ess takes arrays"
)


def autoregressive(chains: int, draws: int, phi: float) -> np.ndarray:
    noise = np.random.default_rng(0).normal(size=(chains, draws))
    x = noise.copy()
    for t in range(1, draws):
        x[:, t] += phi * x[:, t - 1]
    return x


CASES = [(4, 1000, 0.5), (4, 999, -0.6), (2, 200, 0.95), (3, 37, 0.0), (4, 100, -0.95), (4, 1000, 0.999)]


@needs_arviz_0
@pytest.mark.parametrize("rounded", [False, True], ids=["continuous", "tied"])
@pytest.mark.parametrize(("chains", "draws", "phi"), CASES)
def test_agrees_with_arviz(chains, draws, phi, rounded):
    x = autoregressive(chains, draws, phi)
    x = np.round(x) if rounded else x
    assert float(d.rhat(x)) == pytest.approx(float(az.rhat(x)), abs=1e-10)
    assert float(d.ess_bulk(x)) == pytest.approx(float(az.ess(x, method="bulk")), rel=1e-10)
    assert float(d.ess_tail(x)) == pytest.approx(float(az.ess(x, method="tail")), rel=1e-10)
    assert float(d.ess_mean(x)) == pytest.approx(float(az.ess(x, method="mean")), rel=1e-10)
    np.testing.assert_allclose(d.bfmi(x), az.bfmi(x), rtol=1e-10)


def test_many_quantities_at_once():
    x = np.stack([autoregressive(4, 300, phi) for phi in (0.0, 0.5, 0.9)], axis=-1)
    np.testing.assert_allclose(d.ess_bulk(x), [float(d.ess_bulk(x[..., k])) for k in range(3)], rtol=1e-12)
    assert d.rhat(x).shape == (3,)


def test_a_constant_has_no_rhat():
    assert np.isnan(d.rhat(np.ones((4, 100))))


def run_of(positions: np.ndarray, **stats: np.ndarray):
    chains, draws, _ = positions.shape
    columns = {"diverging": np.zeros((chains, draws), bool), "reached_max_treedepth": np.zeros((chains, draws), bool)}
    columns |= stats
    records = [
        ChainRecord(c, positions[c], {k: v[c] for k, v in columns.items()}, None, None, {}, [], None)
        for c in range(chains)
    ]
    return assemble(records, compile_seconds=0.0, sampling_seconds=1.0, interrupted=False)


def texts(run) -> list[str]:
    return [f"{n.level}: {n.text}" for n in d.notices(run, names=["a", "b"])]


def test_a_good_run_has_nothing_to_say():
    assert texts(run_of(np.random.default_rng(0).normal(size=(4, 500, 2)))) == []


def test_chains_that_disagree_are_named():
    x = np.random.default_rng(0).normal(size=(4, 500, 2))
    x[0, :, 1] += 3
    found = texts(run_of(x))
    assert any("rhat statistic is larger than 1.01" in t and "for b" in t for t in found)
    assert any("effective sample size per chain is smaller than 100" in t for t in found)


def test_divergences_and_depth_are_reported_first():
    flags = np.zeros((4, 500), bool)
    flags[2, :50] = True
    found = texts(
        run_of(np.random.default_rng(0).normal(size=(4, 500, 2)), diverging=flags, reached_max_treedepth=flags)
    )
    assert found[0].startswith("error: There were 50 divergences after tuning.")
    assert found[1].startswith("warning: Chain 2 reached the maximum tree depth in 10% of its draws.")


def test_few_draws_and_single_chains_are_not_judged():
    assert "Fewer than 100 draws" in texts(run_of(np.zeros((4, 50, 2))))[0]
    assert "Only one chain" in texts(run_of(np.random.default_rng(0).normal(size=(1, 200, 2))))[0]


def test_an_interrupted_run_keeps_most_draws():
    make = lambda c, n: ChainRecord(c, np.zeros((n, 1)), {"lp": np.zeros(n)}, None, None, {}, [], None)
    run = assemble([make(0, 900), make(1, 1000), make(2, 10), make(3, 0)],
                   compile_seconds=0.0, sampling_seconds=1.0, interrupted=True)  # fmt: skip
    assert (run.chains, run.draws) == ([0, 1], 900)
    assert run.positions.shape == (2, 900, 1)
    assert [r.draws for r in run.records] == [900, 1000, 10, 0]


# Progress

REPORT = Report("sampling", 2.0, [ChainProgress(0, 500, 2000, 1000, 0, 0.5, 4000, 2.0),
                                  ChainProgress(1, 1500, 2000, 1000, 3, 0.4, 9000, 2.0)])  # fmt: skip


def test_a_report_in_a_line():
    assert summary(REPORT) == "Sampling 2 chains: 2000/4000 draws, 3 divergences, 2.0 s, about 0:06 left"
    assert summary(Report("compiling", 1.5, [])) == "Compiling (1.5 s)"
    told = summary(REPORT._replace(prepared="compiled in 1.2 s"))
    assert told == "Sampling 2 chains: 2000/4000 draws, 3 divergences, 2.0 s, compiled in 1.2 s, about 0:06 left"


def test_where_programs_come_from_is_told():
    made = [Made("chunk", 0.5, 0.7, False), Made("expand", 0.0, 0.1, True)]
    assert preparation(made) == "compiled in 1.2 s, program read from disk in 0.1 s"
    assert preparation(made[1:]) == "program read from disk in 0.1 s" and preparation([]) == ""
    told = []
    for _ in range(2):
        handle = sample(normal_of_this_test, np.zeros((1, 1)), draws=5, tune=5, chains=1, seed=1, blocking=False)
        handle.wait()
        told.append(handle.report().prepared)
    assert told[0].startswith(("compiled in", "program read from disk in")) and told[1] == ""


def normal_of_this_test(x):
    return -0.5 * (x**2).sum() - 0.25 * (x**4).sum()


def test_a_report_as_html():
    text = as_html(REPORT)
    assert "500/2000 (tuning)" in text
    assert text.count("<progress") == 2
    assert text.count("#c0392b") == 1


def test_a_table_in_a_terminal(capsys):
    with Table() as table:
        table.show(REPORT)
    assert "1500/2000" in capsys.readouterr().err


def test_lines_for_a_log(capsys, monkeypatch):
    monkeypatch.setattr("ppl.samplers.runs.progress.LINE_SECONDS", 0.0)
    with Lines() as lines:
        lines.show(REPORT)
    assert "2000/4000 draws" in capsys.readouterr().err


def test_nothing_is_shown_unless_asked(capsys):
    with display_for(None) as nothing:
        nothing.show(REPORT)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""

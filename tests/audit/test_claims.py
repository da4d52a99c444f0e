"""Sentences, changes and rows of tables in texts, held against the figures beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.audit import importers
from acidtest.audit.bench import Bench
from acidtest.audit.rules import over
from acidtest.finding import Finding

HEAD = "| test | MyISAM TPS | InnoDB TPS | change |\n|---|---|---|---|\n"
GAINS = HEAD + "| read | 1000 | 1300 | +30% |\n| write | 500 | 600 | +20% |\n| mixed | 800 | 1000 | +25.0% |\n"
LOSSES = "| test | engine 7 (TPS) | engine 8 (TPS) | change |\n|---|---|---|---|\n| a | 900 | 850 | -5.6% |\n| b | 400 | 380 | -5% |\n"
TWO = "| run | NOPM | errors |\n|---|---|---|\n| one driver | 90000 | 0 |\n| two drivers | {} | 0 |\n\n"
SPEEDS = (
    "| case | before (ms) | after (ms) | change | notes |\n|---|---|---|---|---|\n"
    "| fetch | 10.0 | 9.0 | -10% | {} |\n| insert | 20.0 | 18.0 | -10% | batching |\n\n"
    "| case | before (ms) | later (ms) | change | notes |\n|---|---|---|---|---|\n"
    "| fetch | 10.0 | {} | {} | run-to-run variance |\n| update | 20.0 | 20.2 | +1% | within noise |\n"
)
COSTS = (
    "- Inserts are 60-70% slower with AES256\n- Selects are 40% slower with AES256\n\n## Summary\n\n"
    "- AES256 costs little: {}% slower than without\n"
)
PRINTED = (
    "## {}\n\n```\nthr   elapsed    tps      qps     min    avg     p95\n"
    "  8   60.0123s   812.41  16248.2   3.11   9.846   12.301\n"
    " 16   60.0345s  1401.77  28035.4   3.42  11.414   15.274\n"
    " 32   {}\ntool 2.1 (build 77)\n```\n\n"
)
ROW = "60.1278s  1893.25  37865.1   4.07  16.902   27.665"
OTHER_ROW = "60.1301s  1901.33  38026.6   4.11  16.830   27.171"


def found(tmp_path: Path, rule: str, text: str) -> list[Finding]:
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "README.md").write_text(text)
    return [one for of in over(Bench) if of.name == rule for one in of(importers.read(tmp_path))]


@pytest.mark.parametrize(
    ("rule", "speaks", "silent"),
    [
        ("arithmetic", GAINS.replace("+25.0%", "+36%"), GAINS),
        ("arithmetic", GAINS.replace("+25.0%", "-36%"), GAINS.replace("+25.0%", "-20%")),  # of the other figure
        ("arithmetic", GAINS.replace("+25.0%", "+36%"), GAINS.replace("30%", "5%").replace("20%", "7%").replace("25.0%", "9%")),
        (
            "arithmetic",
            GAINS.replace("+30%", "1.30x").replace("+20%", "1.2x").replace("+25.0%", "1.52x"),
            GAINS.replace("+30%", "1.30x").replace("+20%", "1.2x").replace("+25.0%", "1.3x"),
        ),
        (
            "arithmetic",
            "The rate rose from 1,000 TPS to 1,210 TPS (+36%).",
            "The rate rose from 1,000 TPS to 1,210 TPS (+21%).",
        ),
        ("claim-against-figures", TWO.format(40000) + "Both setups of 8 threads have similar results.", TWO.format(80000) + "Both setups of 8 threads have similar results."),
        ("claim-against-figures", TWO.format(40000) + "Both setups of 8 threads have similar results.", TWO.format(40000) + "The 2 do not have similar results."),
        ("claim-against-figures", LOSSES + "\nEngine 8 shows performance improvements.", LOSSES + "\nEngine 7 shows performance improvements."),
        (
            "claim-against-figures",
            LOSSES + "\nEngine 8 shows performance improvements.",
            LOSSES.replace("380 | -5%", "420 | +5%") + "\nEngine 8 shows performance improvements.",
        ),
        ("claim-against-figures", LOSSES + "\nEngine 8 shows performance improvements.", LOSSES.replace("TPS", "ms") + "\nEngine 8 shows performance improvements."),
        ("claim-against-figures", GAINS + "\nInnoDB is 90% faster than MyISAM.", GAINS + "\nInnoDB is 25% faster than MyISAM."),
        ("claim-against-figures", GAINS + "\nInnoDB is 90% faster than MyISAM.", GAINS + "\nInnoDB inserts are 90% faster than MyISAM's."),
        ("claim-against-claim", COSTS.format(6), COSTS.format(50)),
        ("claim-against-claim", COSTS.format(6), COSTS.format(6).replace("AES256 costs", "TLS costs")),
        ("noise-as-gain", SPEEDS.format("prefetching", "11.9", "+19%"), SPEEDS.format("prefetching", "10.2", "+2%")),
        ("noise-as-gain", SPEEDS.format("prefetching", "11.9", "+19%"), SPEEDS.format("within noise", "11.9", "+19%")),
        ("figures-repeated", PRINTED.format("x86", ROW) + PRINTED.format("arm", ROW).replace("812.41", "799.3").replace("1401.77", "1388.25"),
         PRINTED.format("x86", ROW) + PRINTED.format("arm", OTHER_ROW).replace("812.41", "799.3").replace("1401.77", "1388.25")),
        ("figures-repeated", PRINTED.format("x86", ROW) + PRINTED.format("arm", ROW).replace("812.41", "799.3").replace("1401.77", "1388.25"),
         PRINTED.format("x86", ROW) + PRINTED.format("summary: x86", ROW)),
    ],
)  # fmt: skip
def test_what_a_text_says_is_held_against_its_figures(tmp_path: Path, rule: str, speaks: str, silent: str) -> None:
    said = found(tmp_path / "speaks", rule, speaks)
    assert said
    assert all(one.evidence and all(each.line for each in one.evidence) for one in said)
    assert not found(tmp_path / "silent", rule, silent)


VERSIONS = (
    "## Version {}\n\n- Inserts: 10,548 ops/sec\n- Selects: 17,494 ops/sec\n\n## All\n\n"
    "| version | Insert/sec | Select/sec |\n|---|---|---|\n| 3.1.4 | {} | 14,221 |\n| 3.2.0 | 10,548 | 17,494 |\n"
)
K6 = """
    http_req_duration..............: avg=6.13ms min=4.08ms med=6.04ms max=43.31ms p(90)=8.83ms p(95)=10ms
      { expected_response:true }...: avg={}ms min=5.55ms med={}ms max=39.07ms p(90)=9.24ms p(95)=10.68ms
    http_req_failed................: {}% {} out of 4000
    http_reqs......................: 4000   120.004581/s
    vus_max........................: 8      min=8            max=8
"""
STARTED = "services:\n  db:\n    image: mysql:8.0.31\n    command: --innodb-buffer-pool-size=2G --max-connections=500\n"
SETTINGS = "MySQL parameters:\n\n```\ninnodb_buffer_pool_size = {}\nmax_connections = 500\n```\n"


def test_a_rate_that_a_text_tells_of_a_version_is_in_a_row_of_it(tmp_path: Path) -> None:
    assert found(tmp_path / "a", "figure-not-in-results", VERSIONS.format("3.1.4", "9,730"))
    assert not found(tmp_path / "b", "figure-not-in-results", VERSIONS.format("3.2.0", "9,730"))
    assert not found(
        tmp_path / "c", "figure-not-in-results", VERSIONS.format("3.1.4", "10,548")
    )  # one may be another's
    assert not found(tmp_path / "d", "figure-not-in-results", VERSIONS.format("of yesterday", "9,730"))


def test_latencies_of_what_failed_are_told_apart(tmp_path: Path) -> None:
    def text(mean: str, share: str, failed: int) -> str:
        shown = K6
        for value in (mean, mean, share, str(failed)):
            shown = shown.replace("{}", value, 1)
        return f"```\n{shown}\n```\n"

    assert found(tmp_path / "a", "failed-in-latency", text("7.81", "30.00", 1200))
    assert not found(tmp_path / "b", "failed-in-latency", text("6.14", "30.00", 1200))
    assert not found(tmp_path / "c", "failed-in-latency", text("7.81", "0.50", 20))


def test_settings_that_a_text_tells_are_those_in_force(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "compose.yaml").write_text(STARTED)
    assert found(tmp_path / "a", "settings-told-differ", SETTINGS.format("3G"))
    assert not found(tmp_path / "b", "settings-told-differ", SETTINGS.format("2147483648"))


RUN = """## {}

```
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 100
query mode: simple
number of clients: 10
number of threads: 2
duration: 60 s
number of transactions actually processed: {}
latency average = 10.000 ms
tps = {} (without initial connection time)
```

"""


def test_results_under_other_headings_are_no_repetitions(tmp_path: Path) -> None:
    text = [RUN.format(heading, 60 * rate, rate) for heading, rate in (("{} 1", 1000), ("{} 2", 2600), ("{} 3", 1800))]
    assert found(tmp_path / "runs", "wide-spread", "".join(text).replace("{}", "Run"))
    apart = "".join(text).replace("{} 1", "Local").replace("{} 2", "Cluster").replace("{} 3", "Pooled")
    assert not found(tmp_path / "apart", "wide-spread", apart)

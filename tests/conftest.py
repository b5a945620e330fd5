"""For every test: the user's own folder and environment are out of reach, and a skipped test can be made a failure.

A test marked `cases(name, ...)` runs once for each line of these files in tests/cases, or in the folder that `--cases`
names, as its argument `case`.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A reason that begins so belongs to another system than this one, and may be skipped even where nothing may.
ELSEWHERE = "only on "
# What a test records under this name is printed at the end, by whichever process it ran.
TOLD = "told"
CASES = Path(__file__).parent / "cases"
FROM_THE_PERSON = ("OLLAMA_URL", "OLLAMA_MODEL", "OLLAMA_HOST", "LLAMAGENT_WORKDIR", "NO_COLOR")

# On a busy machine everything takes long: how fast it is, is for the benches.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nothing-skipped", action="store_true", help="a skipped test fails the run")
    parser.addoption("--replies", type=int, default=600, help="how many random replies go through the loop")
    parser.addoption("--cases", type=Path, default=CASES, metavar="DIR", help="where the banks of cases are")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "cases(name, ...): run once for each case of these files")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if (marker := metafunc.definition.get_closest_marker("cases")) is not None:
        folder = metafunc.config.invocation_params.dir / metafunc.config.getoption("--cases")
        found = [case for name in marker.args for case in _cases(folder / name)]
        metafunc.parametrize("case", found, ids=[case["id"] for case in found])


def _cases(path: Path) -> list[dict[str, object]]:
    """The cases of one file; none where another folder has no such file."""
    if not path.exists() and path.parent != CASES:
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(autouse=True)
def _nothing_of_the_person(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMAGENT_HOME", str(tmp_path_factory.mktemp("home") / ".llamagent"))
    for name in FROM_THE_PERSON:
        monkeypatch.delenv(name, raising=False)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if session.config.getoption("--nothing-skipped") and exitstatus == pytest.ExitCode.OK and list(_skipped(session)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for report in terminalreporter.stats.get("passed", ()):
        for words in (value for name, value in report.user_properties if name == TOLD):
            terminalreporter.write_line(f"{report.nodeid}: {words}")
    if terminalreporter.config.getoption("--nothing-skipped"):
        for where, reason in _skipped_reports(terminalreporter):
            terminalreporter.write_line(f"SKIPPED, which fails this run: {where}: {reason}", red=True)


def _skipped(session: pytest.Session) -> Iterator[tuple[str, str]]:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    return _skipped_reports(reporter) if isinstance(reporter, pytest.TerminalReporter) else iter(())


def _skipped_reports(reporter: pytest.TerminalReporter) -> Iterator[tuple[str, str]]:
    for report in reporter.stats.get("skipped", ()):
        _, _, reason = report.longrepr if isinstance(report.longrepr, tuple) else (Path(), 0, str(report.longrepr))
        reason = reason.removeprefix("Skipped: ")
        if not reason.startswith(ELSEWHERE):
            yield report.nodeid, reason

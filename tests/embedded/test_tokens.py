"""Token estimates against the real tokenizer: never much too low, whatever a text is made of."""

import base64
import hashlib
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.prompt_tokens import count, specs
from llamagent_server.agent import loop
from llamagent_server.agent.context import TOKENS_PER_MESSAGE, Meter
from llamagent_server.agent.prompt import general
from llamagent_server.core import diffs
from llamagent_server.core.messages import SystemMessage, UserMessage
from llamagent_server.processes.threads import Cancel
from llamagent_server.providers.engine import Engine, EngineConfig, start_engine
from llamagent_server.providers.ollama_wire import tool
from tests.agent.doubles import reply

LOW = 0.9
HIGH = 1.35
RANDOM = random.Random(6)


def source(module: object) -> str:
    return Path(str(vars(module)["__file__"])).read_text("utf-8")


def lines(line: Callable[[int], str], number: int = 60) -> str:
    return "\n".join(map(line, range(number)))


def log_line(number: int) -> str:
    seconds, milliseconds = divmod(number * 1234, 1000)
    took, ip = RANDOM.randint(1, 900), f"10.0.{RANDOM.randint(0, 255)}.{RANDOM.randint(0, 255)}"
    return f"2026-11-29T10:04:{seconds % 60:02}.{milliseconds:03}Z INFO [worker-{number % 8}] took {took} ms ip={ip}"


TEXTS = {
    "prose": (Path(__file__).parents[2] / "README.md").read_text("utf-8"),
    "plain prose": "Somebody wondered whether the small program might also remember the names of those who came. " * 8,
    "python": source(diffs),
    "numbered python": "\n".join(f"{n}: {line}" for n, line in enumerate(source(loop).splitlines(), 1)),
    "json": json.dumps([{"id": n, "name": f"item {n}", "price": n * 1.37, "on": True} for n in range(50)], indent=2),
    "compact json": json.dumps([{"id": n, "name": f"item {n}", "price": n * 1.37} for n in range(50)]),
    "csv of digits": lines(lambda _: ",".join(f"{RANDOM.random() * 1000:.3f}" for _ in range(8))),
    "hex": lines(lambda n: hashlib.sha256(str(n).encode()).hexdigest()),
    "hex dump": lines(lambda n: f"{n * 16:08x}: " + " ".join(f"{RANDOM.getrandbits(16):04x}" for _ in range(8))),
    "log": lines(log_line),
    "git log": lines(lambda n: f"{hashlib.sha1(str(n).encode()).hexdigest()[:9]} Mend the {n}th thing"),
    "test report": lines(lambda n: f"tests/agent/test_loop.py::test_number_{n}[case-{n}] PASSED [ {n}%]"),
    "paths": lines(lambda n: f"server/llamagent_server/providers/module_{n}/test_something_{n}.py"),
    "chinese": "这是一个用来测试分词器的中文句子，里面有一些常见的词语。程序员正在写代码。" * 8,
    "japanese": "これはトークナイザーをテストするための日本語の文です。プログラマーは今日もコードを書いています。" * 8,
    "korean": "이것은 토크나이저를 테스트하기 위한 한국어 문장입니다. 개발자는 오늘도 코드를 작성합니다." * 8,
    "russian": "Программист пишет код и проверяет, сколько токенов нужно для кириллицы." * 8,
    "emoji": "😀🎉🚀🔥✅❌👩‍💻🏳️‍🌈👍🏽🐍 " * 20,
    "emoji in text": "Done ✅ the build passed 🎉 in 12 s 🚀\n" * 20,
}


@pytest.fixture(scope="module")
def engine(gguf: Path) -> Iterator[Engine]:
    started = start_engine(EngineConfig(gguf, 512), Cancel())
    yield started
    started.end()


def calibrated(engine: Engine) -> Meter:
    """A meter after the first reply of a real conversation: the server counted the system prompt and the tools."""
    sent = (SystemMessage(general()), UserMessage("Fix the bug in a.py."))
    texts = [*(message.content for message in sent), *(json.dumps(tool(spec)) for spec in specs())]
    meter = Meter()
    prompt = sum(count(engine, text) for text in texts) + TOKENS_PER_MESSAGE * len(sent)
    meter.observe(sent, specs(), reply("ok", prompt_tokens=prompt))
    assert meter.known_tokens == prompt
    return meter


@pytest.mark.parametrize("kind", TEXTS)
def test_an_estimate_is_never_much_too_low_nor_wildly_too_high(engine: Engine, kind: str) -> None:
    tokens = count(engine, TEXTS[kind])
    for meter in (Meter(), calibrated(engine)):
        assert LOW <= meter.text(TEXTS[kind]) / tokens <= HIGH


def test_what_has_no_pattern_is_within_the_margin_for_what_is_not_counted(engine: Engine) -> None:
    text = base64.b64encode(RANDOM.randbytes(3000)).decode()
    assert Meter().text(text) * 1.25 >= count(engine, text)


def test_as_many_characters_are_shown_as_fit(engine: Engine) -> None:
    for kind in ("python", "csv of digits", "hex", "log"):
        text = TEXTS[kind] * 4
        shown = text[: calibrated(engine).chars(text, 1000)]
        assert 700 <= count(engine, shown) <= 1100

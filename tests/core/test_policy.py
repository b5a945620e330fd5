"""Which commands run without asking: the shared cases, and what no alphabet of plain words lets through."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamagent_server.core.policy import may_run


@pytest.mark.cases("commands.jsonl")
def test_a_command_runs_without_asking_only_where_the_case_says_so(case) -> None:  # type: ignore[no-untyped-def]
    assert ("run" if may_run(case["command"], case["allowed"]) else "ask") == case["expect"], case["why"]


@pytest.mark.parametrize(
    "command",
    [
        "git status; rm -rf .",
        "git status\trm",
        "git status\r\nrm x",
        "git status\x00",
        "git  status\u00a0x",
        "git status >x",
        "git status ~/x",
        "git status {a,b}",
        "git status #",
        "git status !x",
        "git status --outp=x",
        "GIT_PAGER=sh git status",
        "git -c core.pager=sh status",
        "",
        "   ",
    ],
)
def test_what_is_more_than_plain_words_asks(command: str) -> None:
    assert not may_run(command, ["git status", "git"])


@given(st.text(alphabet=st.characters(exclude_categories=["L", "N"], exclude_characters="_./:,@%+=- ")))
def test_no_character_outside_the_alphabet_ever_runs(text: str) -> None:
    assert not text or not may_run(f"ls {text}x", ["ls"])


@pytest.mark.parametrize("allowed", [[], [""], ["  "], ["git status --short"]])
def test_an_empty_or_longer_prefix_allows_nothing(allowed: list[str]) -> None:
    assert not may_run("git status", allowed)


@pytest.mark.parametrize(
    ("command", "prefix", "runs"),
    [
        ("find src -name x.py", "find", True),
        ("find src -exec rm x", "find", False),
        ("find src -fprint0 out", "find", False),
        ("go test -exec=sh ./...", "go test", False),
        ("go test -v ./...", "go test", True),
        ("make test SHELL=x", "make", False),
        ("make test", "make", True),
        ("rg --files src", "rg", True),
        ("rg --pre cat x", "rg", False),
        ("rg -o name src", "rg", True),
        ("grep -o name src", "grep", True),
        ("pytest --co -q", "pytest", True),
        ("pytest -pmine", "pytest", False),
        ("pytest -xp mine", "pytest", False),
        ("pytest --outputdir=x", "pytest", False),
        ("pytest --override=x", "pytest", False),
        ("tsc --outDir x", "tsc", False),
        ("node --require x app.js", "node", False),
        ("sort -ofile x", "sort", False),
        ("fd -x rm", "fd", False),
        ("git diff --no-ext-diff", "git diff", True),
        ("git log --oneline --graph -n 5", "git log", True),
        ("ls -la", "ls", True),
    ],
)
def test_options_that_write_or_execute_ask_and_harmless_ones_do_not(command: str, prefix: str, runs: bool) -> None:
    assert may_run(command, [prefix]) is runs


@pytest.mark.parametrize(
    ("command", "prefix", "runs"),
    [
        ("sed -n 1,40p app.py", "sed -n", True),
        ("sed -n 10,+5p app.py", "sed", True),
        ("sed -n /import/p app.py", "sed -n", True),
        ("sed s/a/b/g app.py", "sed", True),
        ("sed -n 1,5p a.py b.py", "sed -n 1,5p", True),
        ("sed -n 1e./x.sh app.py", "sed -n", False),
        ("sed -n w/home/me/.profile app.py", "sed -n", False),
        ("sed s/a/b/wout app.py", "sed", False),
        ("sed s/a/b/e app.py", "sed", False),
        ("sed -n /a/w/tmp/x app.py", "sed -n", False),
        ("sed -n --expression=1e./x.sh 5p", "sed", False),
        ("uniq words.txt", "uniq", True),
        ("uniq -c words.txt out.txt", "uniq", False),
        ("xxd logo.png dump", "xxd", False),
        ("pytest @options.txt", "pytest", False),
        ("python -m pytest @options.txt", "python -m pytest", False),
        ("mypy @options.txt", "mypy", False),
        ("npm ls @types/node", "npm ls", True),
        ("git show @", "git show", True),
        ("mypy --python-executable=./x src", "mypy", False),
        ("mypy --html-report /home/me src", "mypy", False),
        ("ruff check --add-noqa", "ruff check", False),
        ("npm test --node-options=--require=./x", "npm test", False),
        ("cargo test --manifest-path=/x/Cargo.toml", "cargo test", False),
        ("go test -C /x", "go test", False),
        ("gofmt -l src", "gofmt", True),
        ("gofmt -w src", "gofmt", False),
        ("yq -i x f.yml", "yq", False),
        ("gcc -wrapper ./x a.c", "gcc", False),
        ("git bisect log", "git bisect", True),
        ("git bisect run ./x.sh", "git bisect", False),
        ("git bisect run ./x.sh", "git", False),
        ("git submodule status", "git submodule", True),
        ("git submodule foreach ./x.sh", "git submodule", False),
        ("git --no-pager submodule foreach ./x.sh", "git", False),
        ("git config core.fsmonitor ./x.sh", "git", False),
        ("git config core.editor", "git config", True),
        ("git rebase -x ./x.sh main", "git rebase", False),
        ("git difftool -x ./x.sh", "git difftool", False),
        ("git difftool --extcmd=./x.sh", "git difftool", False),
        ("git filter-branch --tree-filter ./x.sh", "git", False),
        ("git diff --no-index /etc/passwd x", "git diff", False),
        ("git log -3", "git", True),
    ],
)
def test_operands_that_say_what_to_run_or_to_write_ask(command: str, prefix: str, runs: bool) -> None:
    assert may_run(command, [prefix]) is runs


ATTACKS = [
    "env git status",
    "GIT_DIR=x git status",
    "git status\u2003x",
    "git\u00a0status",
    "git status\u2028rm x",
    "git status\x0brm",
    "git status\x0crm",
    "git status\n",
    "git status `x`",
    "git status $X",
    "git status ${IFS}x",
    "git status 'x'",
    "git status \\x",
    "git status <(x)",
    "git status *",
    "git status ?",
    "git status [a]",
    "git status |x",
    "git status ||x",
    "git status &&x",
    "git status (x)",
    "./git status",
    "/tmp/git status",
    "git-status",
    "Git status",
    "git --upload-pack=x status",
    "git --exec-path=x status",
    "\uff47it status",
    "git st\u0430tus",
    "\ufeffgit status",
    "git\u200b status",
    "\\git status",
]


@pytest.mark.parametrize("command", ATTACKS)
def test_a_disguised_command_asks(command: str) -> None:
    assert not may_run(command, ["git status"])


@pytest.mark.parametrize(
    ("command", "prefix"),
    [
        ("git log --ext-diff", "git log"),
        ("git grep -Oless x", "git grep"),
        ("git fetch --upload-pack=x o", "git fetch"),
        ("git clone -cfoo=bar x", "git clone"),
        ("git diff --no-index --output=x a b", "git diff"),
        ("git -C x status", "git"),
        ("find x -execdir y", "find"),
        ("find x -okdir y", "find"),
        ("find x -delete", "find"),
        ("find x -fls y", "find"),
        ("rg --pre=x y", "rg"),
        ("rg --hostname-bin=x y", "rg"),
        ("sed -i x", "sed"),
        ("sed -ni x", "sed"),
        ("sed --in-place x", "sed"),
        ("awk -f x", "awk"),
        ("sort --compress-program=x y", "sort"),
        ("sort --output=x y", "sort"),
        ("tar --to-command=x", "tar"),
        ("tar --checkpoint-action=exec=x", "tar"),
        ("curl -o x y", "curl"),
        ("curl -K x", "curl"),
        ("wget -O x y", "wget"),
        ("pytest -p x", "pytest"),
        ("pytest -c x", "pytest"),
        ("pytest --rootdir=x", "pytest"),
        ("python -m x", "python"),
        ("python -c x", "python"),
        ("node -e x", "node"),
        ("node --eval=x", "node"),
        ("node --import=x y", "node"),
        ("perl -e x", "perl"),
        ("make -f x", "make"),
        ("make -C x", "make"),
        ("make SHELL=x", "make"),
        ("less -o x", "less"),
        ("env -S x", "env"),
        ("go vet -vettool=x", "go vet"),
        ("go build -o x", "go build"),
        ("gcc -o x y", "gcc"),
        ("ruby -r x y", "ruby"),
        ("tsc --outFile x", "tsc"),
        ("eslint --fix x", "eslint"),
        ("ruff --config=x check", "ruff"),
        ("npm --script-shell=x test", "npm"),
        ("cat .env", "cat"),
        ("grep x id_rsa", "grep"),
    ],
)
def test_an_option_that_writes_executes_or_loads_asks(command: str, prefix: str) -> None:
    assert not may_run(command, [prefix])

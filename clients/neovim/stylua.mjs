// Formats Lua files with stylua's WebAssembly build, or says which are not formatted: node stylua.mjs [--fix] FILE...
import { readFileSync, writeFileSync } from 'node:fs';
import { Config, IndentType, OutputVerification, QuoteStyle, formatCode } from '@johnnymorganz/stylua';

// The same as stylua.toml, which editors and the native program read.
function config() {
  const made = Config.new();
  made.column_width = 120;
  made.indent_type = IndentType.Spaces;
  made.indent_width = 2;
  made.quote_style = QuoteStyle.AutoPreferSingle;
  return made;
}

const fix = process.argv[2] === '--fix';
let failed = false;
for (const path of process.argv.slice(fix ? 3 : 2)) {
  const before = readFileSync(path, 'utf8');
  // The call takes its configuration over, so each file needs a new one.
  const after = formatCode(before, config(), undefined, OutputVerification.Full);
  if (after === before) continue;
  if (fix) writeFileSync(path, after);
  else {
    failed = true;
    console.log(`${path}: not formatted (check.py --fix does it)`);
  }
}
process.exit(failed ? 1 : 0);

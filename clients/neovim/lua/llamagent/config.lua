--- The person's options: defaults, and `setup{}` over them.
local M = {}

---@class llamagent.PanelOptions
---@field width integer|number columns, or a fraction of the screen below 1
---@field open_on_ask boolean show the panel when something is asked
---@field batch_ms integer how often streamed text is drawn
---@field max_lines integer older lines than these are dropped from the panel
---@field fold_over integer tool output and thinking longer than this are folded
---@field fold_diff_over integer diffs longer than this are folded

---@class llamagent.PromptOptions
---@field height integer
---@field max_height integer
---@field history integer how many asks are remembered

---@class llamagent.ReviewOptions
---@field idle_ms integer a review opens by itself only after so long without a key (in the panel: at once)
---@field small integer diffs of at most so many lines can be answered in the panel
---@field layout 'auto'|'side'|'stacked'

---@class llamagent.Options
---@field cmd string[] the server's program and its arguments
---@field settings table<string, any> the daemon's settings: only what the person set is sent
---@field trusted? boolean|fun(root: string): boolean? whether a project is trusted; nil: the daemon asks
---@field enable boolean call `vim.lsp.enable('llamagent')` in setup
---@field root_markers (string|fun(name: string, path: string): boolean)[]
---@field panel llamagent.PanelOptions
---@field prompt llamagent.PromptOptions
---@field review llamagent.ReviewOptions
---@field keys table<string, table<string, string|false>>
---@field signs table<string, string> at most two cells each

--- A folder of ours marks a project where it holds what a person made: conversations alone may be of any folder.
---@param name string
---@param path string the folder that holds it
---@return boolean
local function is_our_folder(name, path)
  return name == '.llamagent'
    and vim.iter({ 'config.toml', 'server.toml', 'skills' }):any(function(made)
      return vim.uv.fs_stat(vim.fs.joinpath(path, name, made)) ~= nil
    end)
end

---@type llamagent.Options
local DEFAULTS = {
  cmd = { 'llamagent-server', 'serve', '--stdio' },
  settings = {},
  enable = true,
  root_markers = { is_our_folder, '.git', '.hg', 'pyproject.toml', 'package.json', 'Cargo.toml', 'go.mod', 'Makefile' },
  panel = { width = 0.4, open_on_ask = true, batch_ms = 50, max_lines = 20000, fold_over = 6, fold_diff_over = 30 },
  prompt = { height = 3, max_height = 10, history = 50 },
  review = { idle_ms = 1000, small = 6, layout = 'auto' },
  keys = {
    panel = {
      prompt = '<CR>',
      cancel = '<C-c>',
      accept = 'ga',
      reject = 'gr',
      view = 'gv',
      next_turn = ']]',
      previous_turn = '[[',
      close = 'q',
      help = 'g?',
    },
    prompt = { send = '<CR>', newline = '<C-j>', steer = '<C-s>', cancel = '<C-c>' },
    review = {
      accept = 'ga',
      accept_more = 'gA',
      reject = 'gr',
      reject_and_stop = 'gR',
      take = 'gy',
      refuse = 'gn',
      next_file = ']f',
      previous_file = '[f',
      help = 'g?',
    },
  },
  signs = {
    user = '❯ ',
    model = '● ',
    thinking = '○ ',
    harness = '◆ ',
    tool = '▸ ',
    editor = '± ',
    waits = '? ',
    ended = '■ ',
    error = '✗ ',
  },
}

---@type llamagent.Options
M.options = vim.deepcopy(DEFAULTS)

-- Tables whose keys are free: what is in there is not checked against the defaults.
local OPEN = { settings = true, cmd = true, root_markers = true }

--- The dotted names in `given` that no option has.
---@param given table<string, any>
---@param known table<string, any>
---@param prefix string
---@return string[]
local function unknown(given, known, prefix)
  local found = {}
  for key, value in pairs(given) do
    local name = prefix .. key
    if known[key] == nil and name ~= 'trusted' then
      table.insert(found, name)
    elseif type(value) == 'table' and type(known[key]) == 'table' and not OPEN[name] then
      vim.list_extend(found, unknown(value, known[key], name .. '.'))
    end
  end
  table.sort(found)
  return found
end

--- Lay the person's options over the defaults. Raises an error that names every unknown one.
---@param given? table<string, any>
function M.set(given)
  given = given or {}
  local bad = unknown(given, DEFAULTS, '')
  if #bad > 0 then
    error(('llamagent: unknown option%s: %s'):format(#bad > 1 and 's' or '', table.concat(bad, ', ')), 0)
  end
  vim.validate('cmd', given.cmd, 'table', true)
  vim.validate('settings', given.settings, 'table', true)
  vim.validate('trusted', given.trusted, { 'boolean', 'function' }, true)
  M.options = vim.tbl_deep_extend('force', vim.deepcopy(DEFAULTS), given)
end

return M

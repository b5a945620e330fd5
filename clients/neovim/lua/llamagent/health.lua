--- `:checkhealth llamagent`.
local M = {}

local client = require('llamagent.client')
local config = require('llamagent.config')

local health = vim.health

local function check_neovim()
  health.start('Neovim')
  if vim.fn.has('nvim-0.11') == 1 then
    health.ok('Neovim ' .. tostring(vim.version()))
  else
    health.error('Neovim 0.11 or newer is needed; this is ' .. tostring(vim.version()))
  end
end

---@return string? version
local function program_version()
  local done = vim.system({ config.options.cmd[1], '--version' }, { text = true }):wait(10000)
  return done.code == 0 and vim.trim(done.stdout or '') or nil
end

local function check_program()
  health.start('The server')
  local program = config.options.cmd[1]
  if vim.fn.executable(program) == 0 then
    health.error(("'%s' was not found on PATH"):format(program), { 'Install it: ' .. client.INSTALL })
    return
  end
  local version = program_version()
  if version then
    health.ok(('%s: %s'):format(vim.fn.exepath(program), version))
  else
    health.warn(('%s does not answer to --version'):format(vim.fn.exepath(program)))
  end
  if vim.lsp.is_enabled and not vim.lsp.is_enabled(client.NAME) then
    health.info("not enabled for every file: `vim.lsp.enable('llamagent')`. `:Llamagent` starts it when it is needed.")
  end
end

--- Whether the model that is set is there, and how to get it.
---@param settings {key: string, value: any}[]
---@param models {name: string}[]
local function check_model(settings, models)
  local chosen = vim.iter(settings):find(function(row)
    return row.key == 'model'
  end)
  local names = vim.tbl_map(function(row)
    return row.name
  end, models)
  if not chosen or vim.list_contains(names, chosen.value) or vim.list_contains(names, chosen.value .. ':latest') then
    return
  end
  local advice =
    { ('Download it: `:Llamagent pull_model %s` (it asks first, and says the size).'):format(chosen.value) }
  if #names > 0 then
    table.insert(advice, 'Or use one that is there: `:Llamagent models`.')
  end
  health.warn(('the model %s is not there'):format(chosen.value), advice)
end

---@param used vim.lsp.Client
local function check_client(used)
  local info = used.server_info or {}
  health.ok(('%s %s for %s'):format(info.name or '?', info.version or '', used.root_dir or 'no project folder'))
  local protocol = vim.tbl_get(used.server_capabilities, 'experimental', 'llamagent', 'protocol')
  if protocol ~= client.PROTOCOL then
    health.warn(('it speaks protocol %s, this plugin %d'):format(protocol or '?', client.PROTOCOL))
  end
  health.info(('position encoding %s, buffers: %d'):format(used.offset_encoding, vim.tbl_count(used.attached_buffers)))
  local report = client.request_now(used, 'config', {}, 3000)
  for _, problem in ipairs(report and report.problems or {}) do
    health.warn(problem)
  end
  local models = client.request_now(used, 'models', {}, 5000)
  if models then
    health.ok(('the model server answers; models: %d'):format(#models.models))
    check_model(report and report.settings or {}, models.models)
  else
    health.warn('the model server does not answer', { 'Start it (`ollama serve`), or set `settings.url`.' })
  end
end

--- Run the checks.
function M.check()
  check_neovim()
  check_program()
  health.start('Running servers')
  local running = vim.lsp.get_clients({ name = client.NAME })
  if #running == 0 then
    health.info('none: open a file, or `:Llamagent ask …`')
  end
  for _, used in ipairs(running) do
    check_client(used)
  end
end

return M

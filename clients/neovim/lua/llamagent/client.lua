--- The language client: its configuration, which one is meant, and requests to it.
local M = {}

local api = vim.api
local config = require('llamagent.config')
local say = require('llamagent.say')

M.NAME = 'llamagent'
M.PROTOCOL = 1
M.INSTALL = '`pipx install .` in a clone of llamagent (it is not on PyPI yet)'

local CAPABILITIES = {
  workspace = {
    workspaceEdit = {
      documentChanges = true,
      resourceOperations = { 'create', 'delete' },
      changeAnnotationSupport = { groupsOnLabel = false },
      normalizesLineEndings = true,
    },
  },
  experimental = {
    llamagent = { review = true, trace = true, save = true, consent = true, diagnostics = true, prompt = true },
  },
}

---@type table<integer, true> clients whose exit was asked for, so that it is no news
local stopping = {}
local orphans = {} ---@type integer[] buffers of servers that died
local last_used ---@type integer?
local told_missing = false

--- JSON null as nil: Neovim 0.12 hands `vim.NIL` to handlers where 0.11 left the key out.
---@param value any
---@return any
function M.plain(value)
  if value == vim.NIL then
    return nil
  end
  if type(value) ~= 'table' then
    return value
  end
  for key, item in pairs(value) do
    value[key] = M.plain(item)
  end
  return value
end

--- A table that becomes a JSON object even when it is empty.
---@param value? table<string, any>
---@return table<string, any>
function M.object(value)
  return value and next(value) and value or vim.empty_dict()
end

--- Say, once, that the server's program is not there and how to get it.
---@param program string
function M.say_missing(program)
  if told_missing then
    return
  end
  told_missing = true
  say.error(("the program '%s' was not found. Install it: %s"):format(program, M.INSTALL))
end

--- Start the server's process. Raises a string where the program is missing.
---@param dispatchers vim.lsp.rpc.Dispatchers
---@param client_config? vim.lsp.ClientConfig
---@return vim.lsp.rpc.PublicClient
local function start_server(dispatchers, client_config)
  local cmd = config.options.cmd
  if vim.fn.executable(cmd[1]) == 0 then
    M.say_missing(cmd[1])
    error(("llamagent: '%s' is not executable"):format(cmd[1]), 0)
  end
  return vim.lsp.rpc.start(cmd, dispatchers, { cwd = client_config and client_config.root_dir or nil })
end

--- Put what the person chose into `initialize`.
---@param params lsp.InitializeParams
---@param client_config vim.lsp.ClientConfig
local function before_init(params, client_config)
  local settings = vim.tbl_extend('force', config.options.settings, client_config.settings[M.NAME])
  client_config.settings[M.NAME] = M.object(settings)
  local trusted = config.options.trusted
  if type(trusted) == 'function' then
    trusted = client_config.root_dir and trusted(client_config.root_dir) or nil
  end
  params.initializationOptions = vim.tbl_extend('keep', params.initializationOptions or {}, {
    settings = M.object(settings),
    trusted = trusted,
  })
  params.locale = params.locale or vim.v.lang:match('^%a+[_%-]?%a*')
end

---@param client vim.lsp.Client
local function on_init(client)
  require('llamagent.attach').flush_pending()
  local protocol = vim.tbl_get(client.server_capabilities, 'experimental', 'llamagent', 'protocol')
  if protocol ~= M.PROTOCOL then
    say.warn(('the server speaks protocol %s, this plugin %d: update one of them'):format(protocol or '?', M.PROTOCOL))
  end
  say.event('Started', { client_id = client.id })
end

--- Requests under way get no answer once the server is gone: whoever waits is told here.
---@param code integer
---@param signal integer
---@param client_id integer
local function on_exit(code, signal, client_id)
  local dead = vim.lsp.get_client_by_id(client_id)
  orphans = vim.list_extend(orphans, vim.tbl_keys(dead and dead.attached_buffers or {}))
  vim.schedule(function()
    local expected = stopping[client_id]
    stopping[client_id] = nil
    if vim.v.exiting ~= vim.NIL then
      return
    end
    local why = signal > 0 and ('it was ended by signal %d'):format(signal) or ('it ended with code %d'):format(code)
    require('llamagent.conversation').server_gone(client_id, expected and nil or why)
    require('llamagent.review').server_gone(client_id)
    require('llamagent.questions').server_gone(client_id)
    if not expected then
      local todo = '`:Llamagent restart` starts it again, `:Llamagent resume` goes on with what was said'
      say.error(('the server stopped: %s. %s; `:LspLog` may say why.'):format(why, todo))
    end
    say.event('Exit', { client_id = client_id, code = code, signal = signal })
  end)
end

--- The configuration that `lsp/llamagent.lua` gives to `vim.lsp.config`.
---@return vim.lsp.Config
function M.config()
  return {
    cmd = start_server,
    root_dir = require('llamagent.attach').root_dir,
    capabilities = CAPABILITIES,
    handlers = require('llamagent.handlers'),
    settings = { [M.NAME] = vim.empty_dict() },
    before_init = before_init,
    on_init = on_init,
    on_exit = on_exit,
  }
end

---@param bufnr integer
---@return vim.lsp.Client?
local function client_of(bufnr)
  local attach = require('llamagent.attach')
  local own = vim.b[bufnr].llamagent_client
  if own then
    return vim.lsp.get_client_by_id(own)
  end
  local running = vim.lsp.get_clients({ name = M.NAME })
  if attach.eligible(bufnr) then
    -- A file's words never go to another project's server, even where its own has died.
    local root = attach.root_of(bufnr)
    return vim.iter(running):find(function(client)
      return client.root_dir == root
    end)
  end
  return last_used and vim.lsp.get_client_by_id(last_used) or running[1]
end

--- The client for what the person is doing: that of the panel, or of the file's project; for a buffer that is no file,
--- the last one used.
---@param bufnr? integer
---@return vim.lsp.Client?
function M.current(bufnr)
  local client = client_of(bufnr or api.nvim_get_current_buf())
  return client and not client:is_stopped() and client or nil
end

---@param bufnr integer
---@return integer? client_id
local function start_for(bufnr)
  local attach = require('llamagent.attach')
  local resolved = vim.lsp.config[M.NAME] --[[@as vim.lsp.ClientConfig]]
  local program = (type(resolved.cmd) == 'table' and resolved.cmd or config.options.cmd)[1]
  if vim.fn.executable(program) == 0 then
    M.say_missing(program)
    return nil
  end
  local root = vim.b[bufnr].llamagent_root or attach.root_of(bufnr)
  if not root and not attach.eligible(bufnr) then
    root = attach.working_root()
  end
  local own = vim.deepcopy(resolved)
  own.root_dir = root -- in place of the function, which is for `vim.lsp.enable`
  return vim.lsp.start(own, { bufnr = bufnr, attach = attach.eligible(bufnr) })
end

---@param id integer
---@param callback fun(client: vim.lsp.Client)
---@param tries integer
local function when_initialized(id, callback, tries)
  local client = vim.lsp.get_client_by_id(id)
  if client and client.initialized then
    callback(client)
  elseif client and not client:is_stopped() and tries > 0 then
    vim.defer_fn(function()
      when_initialized(id, callback, tries - 1)
    end, 20)
  elseif client then
    say.error('the server did not answer for 30 seconds. `:checkhealth llamagent` may say why.')
  end
end

--- Call back with the client that is meant, started and initialised first where none runs.
---@param callback fun(client: vim.lsp.Client)
---@param bufnr? integer
function M.with(callback, bufnr)
  bufnr = bufnr or api.nvim_get_current_buf()
  local client = M.current(bufnr)
  local id = client and client.id or start_for(bufnr)
  if id then
    last_used = id
    when_initialized(id, callback, 1500)
  end
end

--- Whether the server offers this command.
---@param client vim.lsp.Client
---@param name string without the prefix
---@return boolean
function M.offers(client, name)
  local offered = vim.tbl_get(client.server_capabilities, 'executeCommandProvider', 'commands') or {}
  return vim.tbl_contains(offered, 'llamagent.' .. name)
end

---@class llamagent.Failure
---@field message string what happened and what the person can do
---@field kind? string
---@field code? integer

---@param err lsp.ResponseError
---@return llamagent.Failure
local function failure(err)
  local data = type(err.data) == 'table' and M.plain(err.data) or {}
  local message = err.message or 'the request failed'
  if data.hint and not message:find(data.hint, 1, true) then
    message = message .. ' ' .. data.hint
  end
  return { message = message, kind = data.kind, code = err.code }
end

--- Ask the server for a command. The callback gets either the result or what went wrong.
---@param client vim.lsp.Client
---@param name string without the prefix
---@param argument? table<string, any>
---@param callback fun(result: any, problem: llamagent.Failure?)
---@return integer? request id
function M.request(client, name, argument, callback)
  if not M.offers(client, name) then
    callback(nil, { message = ('the server does not offer `%s` yet.'):format(name) })
    return nil
  end
  local params = { command = 'llamagent.' .. name, arguments = { M.object(argument) } }
  local sent, id = client:request('workspace/executeCommand', params, function(err, result)
    callback(M.plain(result), err and failure(err) or nil)
  end)
  if not sent then
    callback(nil, { message = 'the server is not running. `:Llamagent restart` starts it.' })
  end
  return sent and id or nil
end

--- The same, waiting at most `timeout` ms: for completion in the command line, which cannot wait for a callback.
---@param client vim.lsp.Client
---@param name string
---@param argument table<string, any>
---@param timeout integer
---@return any? result
function M.request_now(client, name, argument, timeout)
  if not M.offers(client, name) then
    return nil
  end
  local params = { command = 'llamagent.' .. name, arguments = { M.object(argument) } }
  local answer = client:request_sync('workspace/executeCommand', params, timeout)
  return answer and not answer.err and M.plain(answer.result) or nil
end

---@param client vim.lsp.Client
---@param gone fun()
---@param tries integer
local function when_gone(client, gone, tries)
  if not vim.lsp.get_client_by_id(client.id) then
    gone()
  else
    if tries == 0 then
      client:stop(true)
    end
    vim.defer_fn(function()
      when_gone(client, gone, tries - 1)
    end, 20)
  end
end

--- Stop the server and start it again for the same project.
---@param client vim.lsp.Client
---@param callback fun(client: vim.lsp.Client)
function M.restart(client, callback)
  local bufnr = next(client.attached_buffers) or api.nvim_get_current_buf()
  stopping[client.id] = true
  client:stop()
  when_gone(client, function()
    M.with(callback, bufnr)
  end, 100)
end

--- The buffers that a server had open when it died, to give them to the next one.
---@return integer[]
function M.take_orphans()
  local taken = orphans
  orphans = {}
  return taken
end

return M

--- What each command does with the server's answer: a list to choose from, a report, or a line.
local M = {}

local client = require('llamagent.client')
local commands = require('llamagent.commands')
local conversation = require('llamagent.conversation')
local report = require('llamagent.report')
local say = require('llamagent.say')

---@alias llamagent.Shown fun(result: any, used: vim.lsp.Client)

--- Tell what went wrong. A cancelled request is no news.
---@param problem llamagent.Failure
local function tell(problem)
  if problem.code ~= -32800 then
    say.error(problem.message)
  end
end

--- Choose one of the rows; nothing happens where the person leaves.
---@param rows any[]
---@param prompt string
---@param format fun(row: any): string
---@param chosen fun(row: any)
local function choose(rows, prompt, format, chosen)
  if #rows == 0 then
    say.info('there are none.')
    return
  end
  vim.ui.select(rows, { prompt = prompt, format_item = format, kind = 'llamagent' }, function(row)
    if row then
      chosen(row)
    end
  end)
end

--- A size such as 3.4 GB.
---@param bytes? number
---@return string
local function size(bytes)
  return bytes and ('%.1f GB'):format(bytes / 1e9) or ''
end

--- A time of the server's, which is UTC, as the person's clock shows it.
---@param utc string such as 2026-01-02T03:04:05Z
---@return string
local function local_time(utc)
  local year, month, day, hour, min, sec = utc:match('^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)')
  if not year then
    return utc
  end
  local date = { year = year, month = month, day = day, hour = hour, min = min, sec = sec, isdst = false }
  local as_local = os.time(date)
  local back = os.date('!*t', as_local) --[[@as osdateparam]]
  back.isdst = false
  return os.date('%Y-%m-%d %H:%M', as_local + os.difftime(as_local, os.time(back))) --[[@as string]]
end

---@param tokens integer
---@param of integer
---@return string
local function percent(tokens, of)
  return of > 0 and ('%d %%'):format(math.floor(100 * tokens / of + 0.5)) or ''
end

---@param result llamagent.Gauge
---@return string[]
local function context_lines(result)
  local about = result.estimated and 'about ' or ''
  local used = percent(result.tokens, result.numCtx)
  local lines = { ('%s%d of %d tokens (%s)'):format(about, result.tokens, result.numCtx, used), '' }
  for _, part in ipairs(result.parts) do
    local bar = ('█'):rep(math.floor(30 * part.tokens / math.max(result.numCtx, 1) + 0.5))
    table.insert(lines, ('%-14s %6d  %s'):format(part.name, part.tokens, bar))
  end
  return lines
end

---@param result {settings: {key: string, value: any, source: string, workspaceMaySet: boolean}[], problems: string[]}
---@return string[]
local function config_lines(result)
  local lines = {}
  for _, row in ipairs(result.settings) do
    local value = type(row.value) == 'string' and row.value or vim.json.encode(row.value)
    local note = row.workspaceMaySet and '' or '  (not from a project)'
    table.insert(lines, ('%-20s %-28s %s%s'):format(row.key, value, row.source, note))
  end
  for _, problem in ipairs(result.problems or {}) do
    table.insert(lines, '! ' .. problem)
  end
  return lines
end

---@param result {commands: {name: string, title: string, help: string}[]}
---@return string[]
local function help_lines(result)
  local lines = vim.tbl_map(function(row)
    return (':Llamagent %-16s %s'):format(row.name:gsub('^llamagent%.', ''), row.help)
  end, result.commands)
  for _, command in ipairs(commands.OWN) do
    table.insert(lines, (':Llamagent %-16s %s'):format(command.name, command.help))
  end
  return lines
end

---@param what string
---@return llamagent.Shown
local function changed(what)
  return function(result)
    local function text(value)
      return type(value) == 'string' and value or vim.json.encode(value)
    end
    say.info(('%s is now %s (was %s).'):format(what, text(result.value), text(result.previous)))
  end
end

--- It may have ended by itself meanwhile.
local function ended() end

---@type llamagent.Shown
local function to_session(result, used)
  local unseen = conversation.switch(used.id, result.session)
  for _, waiting in ipairs(unseen.queue) do
    client.request(used, 'unqueue', { id = waiting.id }, ended)
  end
  if unseen.running then
    client.request(used, 'cancel', { session = unseen.running }, ended)
  end
  require('llamagent.panel').redraw(used)
end

---@type table<string, llamagent.Shown>
local shown = {
  context = function(result)
    report.show('What fills the context', context_lines(result))
  end,
  config = function(result)
    report.show('Settings', config_lines(result))
  end,
  help = function(result)
    report.show('Commands', help_lines(result))
  end,
  export = function(result)
    report.show('The conversation', vim.split(result.text, '\n', { plain = true }), 'markdown')
  end,
  trace = function(result)
    report.show('Trace', vim.tbl_map(vim.json.encode, result.events))
  end,
  compact = function(result)
    say.info(('summed up: %d tokens became %d.'):format(result.tokensBefore, result.tokensAfter))
  end,
  load_skill = function(result)
    say.info(('the model has the skill %s (%d tokens).'):format(result.name, result.tokens))
  end,
  skills = function(result, used)
    choose(result.skills, 'Load a skill:', function(row)
      return ('%s: %s (%s)'):format(row.name, row.description, row.source)
    end, function(row)
      M.run(used, 'load_skill', { name = row.name })
    end)
  end,
  models = function(result, used)
    choose(result.models, 'Use a model:', function(row)
      local can = table.concat(row.capabilities or {}, ' ')
      return ('%s %-24s %8s  %s'):format(row.current and '*' or ' ', row.name, size(row.size), can)
    end, function(row)
      M.run(used, 'set_model', { value = row.name })
    end)
  end,
  sessions = function(result, used)
    choose(result.sessions, 'Resume a conversation:', function(row)
      local mark = row.current and '*' or row.damaged and '!' or ' '
      return ('%s %s  %s (%d messages, %s)'):format(mark, local_time(row.updated), row.title, row.messages, row.model)
    end, function(row)
      M.run(used, 'resume', { ref = row.id })
    end)
  end,
  set_model = function(result, used)
    conversation.of(used.id).model = result.value
    changed('the model')(result, used)
  end,
  set_temperature = changed('the temperature'),
  set_num_ctx = changed('the context length'),
  allow = function(result)
    local list = #result.allowed > 0 and table.concat(result.allowed, ', ') or 'none'
    say.info('commands that run without asking: ' .. list)
  end,
  trust = function(result)
    say.info(('%s is %strusted.'):format(result.folder, result.trusted and '' or 'not '))
  end,
  cancel = function(result)
    say.info(result.cancelled and 'stopping.' or 'nothing runs.')
  end,
  new = to_session,
  clear = to_session,
  resume = function(result, used)
    to_session(result, used)
    say.info(('"%s", %d messages.'):format(result.title, result.messages))
  end,
  delete_session = function(result)
    say.info(('deleted "%s".'):format(result.title))
  end,
  init = function(result)
    local made = #result.created > 0 and 'created ' .. table.concat(result.created, ', ') or 'nothing was created'
    say.info(made)
  end,
  pull_model = function(result)
    say.info(result.name .. ' is there.')
  end,
  undo_turn = function(result)
    local words = result.outcome == 'nothing' and 'nothing to take back' or 'undo: ' .. result.outcome
    say.info(words .. (result.reason and ', ' .. result.reason or ''))
  end,
}

--- Run a command and show its answer in its own way.
---@param used vim.lsp.Client
---@param name string
---@param argument? table<string, any>
function M.run(used, name, argument)
  client.request(used, name, argument, function(result, problem)
    if problem then
      tell(problem)
    elseif shown[name] then
      shown[name](result, used)
    end
  end)
end

---@param used vim.lsp.Client
---@param name 'ask'|'retry'
---@param argument? table<string, any>
local function turn(used, name, argument)
  if require('llamagent.config').options.panel.open_on_ask then
    require('llamagent.panel').open(used)
  end
  client.request(used, name, argument, function(_, problem)
    -- The turn's own failure stands in the panel, as the last line of the turn.
    if problem and not require('llamagent.panel').is_visible(used.id) then
      tell(problem)
    elseif problem then
      require('llamagent.panel').note(used.id, problem.message)
    end
  end)
end

---@class llamagent.AskOptions
---@field mode? 'agent'|'read'
---@field steer? boolean

--- Ask the model. What comes of it is told by the trace; here only what failed before a turn began.
---@param used vim.lsp.Client
---@param text string
---@param where llamagent.Where
---@param options? llamagent.AskOptions
function M.ask(used, text, where, options)
  options = options or {}
  local argument = { text = text, mode = options.mode, steer = options.steer }
  local items = require('llamagent.context').items(text, where, used)
  argument.context = #items > 0 and items or nil
  turn(used, 'ask', argument)
end

--- A turn again: what it says comes by the trace.
---@param used vim.lsp.Client
---@param argument {text?: string, undo?: boolean}
function M.retry(used, argument)
  turn(used, 'retry', next(argument) and argument or nil)
end

return M

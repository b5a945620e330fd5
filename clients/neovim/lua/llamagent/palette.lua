--- `:Llamagent`: which command is meant, what goes along, and the picker where none is named.
local M = {}

local api = vim.api
local actions = require('llamagent.actions')
local attach = require('llamagent.attach')
local client = require('llamagent.client')
local commands = require('llamagent.commands')
local conversation = require('llamagent.conversation')
local say = require('llamagent.say')

---@class llamagent.Call
---@field words string what stands after the command's name
---@field bang boolean
---@field bufnr integer
---@field lines? {first: integer, last: integer, charwise: boolean} the range, where one was given

---@param call llamagent.Call
---@param used vim.lsp.Client
---@return llamagent.Where
local function where(call, used)
  local lines = call.lines
  if not lines then
    return { bufnr = call.bufnr }
  end
  local context = require('llamagent.context')
  local range = context.range(call.bufnr, lines.first, lines.last, used.offset_encoding, lines.charwise)
  return { bufnr = call.bufnr, range = range }
end

---@param prompt string
---@param given fun(text: string)
local function input(prompt, given)
  vim.ui.input({ prompt = prompt }, function(text)
    if text and text ~= '' then
      given(text)
    end
  end)
end

---@param name string
---@param key string
---@param prompt string
---@return fun(call: llamagent.Call, used: vim.lsp.Client)
local function number_command(name, key, prompt)
  local function run(used, text)
    local value = tonumber(text)
    if value then
      actions.run(used, name, { [key] = value })
    else
      say.warn(('%s is not a number.'):format(text))
    end
  end
  return function(call, used)
    if call.words ~= '' then
      run(used, call.words)
    else
      input(prompt, function(text)
        run(used, text)
      end)
    end
  end
end

---@param name string
---@param list string the command whose picker helps where nothing was named
---@param key string
---@return fun(call: llamagent.Call, used: vim.lsp.Client)
local function named_command(name, list, key)
  return function(call, used)
    if call.words ~= '' then
      actions.run(used, name, { [key] = key == 'ref' and tonumber(call.words) or call.words })
    else
      actions.run(used, list)
    end
  end
end

---@param call llamagent.Call
---@param used vim.lsp.Client
---@param options llamagent.AskOptions
local function ask(call, used, options)
  local from = where(call, used)
  if call.words ~= '' then
    actions.ask(used, call.words, from, options)
  else
    require('llamagent.panel').open(used)
    require('llamagent.prompt').focus(used, { where = from, mode = options.mode })
  end
end

---@param used vim.lsp.Client
---@return llamagent.Review?
local function waiting(used)
  local waits = require('llamagent.review').next(used.id)
  if not waits then
    say.info('no edit waits for you.')
  end
  return waits
end

---@type table<string, fun(call: llamagent.Call, used: vim.lsp.Client)>
local run = {
  ask = function(call, used)
    ask(call, used, { mode = call.bang and 'read' or nil })
  end,
  steer = function(call, used)
    ask(call, used, { steer = true, mode = call.bang and 'read' or nil })
  end,
  load_skill = named_command('load_skill', 'skills', 'name'),
  set_model = named_command('set_model', 'models', 'value'),
  resume = named_command('resume', 'sessions', 'ref'),
  set_temperature = number_command('set_temperature', 'value', 'Temperature (0 to 2): '),
  set_num_ctx = number_command('set_num_ctx', 'value', 'Context length in tokens: '),
  delete_session = function(call, used)
    if call.words ~= '' then
      actions.run(used, 'delete_session', { ref = tonumber(call.words) or call.words })
    else
      say.warn('name the conversation: `:Llamagent delete_session 1` is the newest, <Tab> lists them.')
    end
  end,
  pull_model = function(call, used)
    if call.words ~= '' then
      actions.run(used, 'pull_model', { name = call.words })
    else
      input('Model to download: ', function(text)
        actions.run(used, 'pull_model', { name = text })
      end)
    end
  end,
  allow = function(call, used)
    local argument = call.words ~= '' and { prefix = call.words, revoke = call.bang } or nil
    actions.run(used, 'allow', argument)
  end,
  retry = function(call, used)
    local text = call.words ~= '' and call.words or nil
    if not conversation.of(used.id).edited then
      actions.retry(used, { text = text })
      return
    end
    local ways = { 'Keep the edits that it made', 'Take back its edits first' }
    vim.ui.select(ways, { prompt = 'The turn again:', kind = 'llamagent' }, function(way)
      if way then
        actions.retry(used, { text = text, undo = way == ways[2] })
      end
    end)
  end,
  export = function(call, used)
    actions.run(used, 'export', call.words ~= '' and { format = call.words } or nil)
  end,
  trust = function(call, used)
    if not used.root_dir then
      say.warn('there is no project folder here.')
      return
    end
    actions.run(used, 'trust', { folder = used.root_dir, trusted = not call.bang })
  end,
  unqueue = function(call, used)
    local queue = conversation.of(used.id).queue
    if call.words ~= '' then
      actions.run(used, 'unqueue', { id = call.words })
    elseif #queue == 0 then
      say.info('nothing waits for its turn.')
    else
      local function format(item)
        return item.text
      end
      vim.ui.select(queue, { prompt = 'Take back:', format_item = format }, function(item)
        if item then
          actions.run(used, 'unqueue', { id = item.id })
        end
      end)
    end
  end,
  panel = function(_, used)
    require('llamagent.panel').toggle(used)
  end,
  accept = function(_, used)
    local waits = waiting(used)
    if waits then
      require('llamagent.review').accept_all(waits)
    end
  end,
  reject = function(call, used)
    local waits = waiting(used)
    if waits and call.bang then
      require('llamagent.review').reject_and_stop(waits)
    elseif waits then
      require('llamagent.review').reject_rest(waits, call.words)
    end
  end,
  cancel = function(_, used)
    local task = conversation.of(used.id).task
    if task and not conversation.of(used.id).running then
      used:notify('window/workDoneProgress/cancel', { token = task.token })
      say.info('stopping.')
    else
      actions.run(used, 'cancel')
    end
  end,
  review = function(_, used)
    local review = require('llamagent.review')
    local waits = review.next(used.id) or review.next()
    if waits then
      review.show(waits)
    elseif not require('llamagent.questions').show_next() then
      say.info('nothing waits for you.')
    end
  end,
}

--- Own commands that work without a server.
---@type table<string, fun(call: llamagent.Call)>
local run_alone = {
  health = function()
    vim.cmd('checkhealth llamagent')
  end,
  restart = function(call)
    local function again(fresh)
      for _, bufnr in ipairs(client.take_orphans()) do
        if api.nvim_buf_is_loaded(bufnr) and attach.root_of(bufnr) == fresh.root_dir then
          attach.now(fresh, bufnr)
        end
      end
      require('llamagent.panel').restarted(fresh)
      say.info('the server runs again. `:Llamagent resume` goes on with what was said.')
    end
    local used = client.current(call.bufnr)
    if used then
      client.restart(used, again)
    else
      client.with(again, call.bufnr)
    end
  end,
}

--- Run one command.
---@param command llamagent.Command
---@param call llamagent.Call
function M.run(command, call)
  if run_alone[command.name] then
    run_alone[command.name](call)
    return
  end
  client.with(function(used)
    local handle = run[command.name]
    if handle then
      handle(call, used)
    else
      actions.run(used, command.name)
    end
  end, call.bufnr)
end

--- Choose among all commands.
---@param call llamagent.Call
function M.pick(call)
  local options = {
    prompt = 'llamagent:',
    kind = 'llamagent.command',
    format_item = function(command)
      return ('%-22s %s'):format(command.title, command.help)
    end,
  }
  vim.ui.select(commands.visible(), options, function(command)
    if command then
      M.run(command, call)
    end
  end)
end

--- What `:Llamagent` does.
---@param given vim.api.keyset.create_user_command.command_args
function M.command(given)
  local name, words = given.args:match('^(%S*)%s*(.-)%s*$')
  local lines = nil
  if given.range > 0 then
    local visual = given.range == 2 and vim.fn.line("'<") == given.line1 and vim.fn.line("'>") == given.line2
    lines = { first = given.line1, last = given.line2, charwise = visual and vim.fn.visualmode() == 'v' }
  end
  local call = { words = words, bang = given.bang, bufnr = api.nvim_get_current_buf(), lines = lines }
  if name == '' then
    M.pick(call)
    return
  end
  local command = commands.find(name)
  if not command or command.hidden then
    local text = 'there is no command "%s". To ask: `:Llamagent ask %s`. `:Llamagent help` lists all.'
    say.error(text:format(name, given.args))
    return
  end
  M.run(command, call)
end

return M

--- The prompt under the panel: an own scratch buffer with history, commands, files, and completion by the server.
local M = {}

local api = vim.api
local commands = require('llamagent.commands')
local completion = require('llamagent.completion')
local config = require('llamagent.config')
local keys = require('llamagent.keys')
local windows = require('llamagent.windows')

local URI = 'llamagent://prompt'
local ns = api.nvim_create_namespace('llamagent.prompt')

---@class llamagent.PromptContext
---@field where? llamagent.Where a selection that goes along with the next ask
---@field mode? 'agent'|'read'

local bufnr ---@type integer?
local owner ---@type integer? the client that the prompt speaks to
local goes_along = {} ---@type llamagent.PromptContext
local history = {} ---@type string[] oldest first
local at = 0 -- steps back in the history; 0 is the draft
local draft = ''

---@return string
local function text()
  return table.concat(api.nvim_buf_get_lines(assert(bufnr), 0, -1, true), '\n')
end

---@param value string
local function set_text(value)
  local lines = vim.split(value, '\n', { plain = true })
  api.nvim_buf_set_lines(assert(bufnr), 0, -1, true, lines)
  for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
    api.nvim_win_set_cursor(win, { #lines, #lines[#lines] })
  end
end

---@param entry string
local function remember(entry)
  if entry ~= '' then
    history = vim.tbl_filter(function(other)
      return other ~= entry
    end, history)
    table.insert(history, entry)
    if #history > config.options.prompt.history then
      table.remove(history, 1)
    end
  end
end

--- Learn the asks of a stored conversation, so that they can be had again.
---@param events llamagent.Event[]
function M.learn(events)
  for _, event in ipairs(events) do
    if event.kind == 'turn.started' then
      remember(event.text)
    end
  end
end

--- Go through the history; what was being written is kept as the draft.
---@param step 1|-1
local function browse(step)
  local target = at + step
  if target < 0 or target > #history then
    return
  end
  if at == 0 then
    draft = text()
  end
  at = target
  set_text(at == 0 and draft or history[#history - at + 1])
end

--- What an empty prompt says, as far as it fits.
---@return string
local function placeholder()
  local map = config.options.keys.prompt
  local win = vim.fn.win_findbuf(assert(bufnr))[1]
  local room = win and api.nvim_win_get_width(win) - 3 or 40
  local out = goes_along.mode == 'read' and 'Ask (read only)' or 'Ask'
  local hints = { map.send and map.send .. ' sends', '@file', '/command', map.newline and map.newline .. ' new line' }
  for _, hint in ipairs(hints) do
    if hint and #out + #hint + 3 <= room then
      out = out .. '   ' .. hint
    end
  end
  return out
end

--- What the prompt shows while it is empty, and what goes along.
local function decorate()
  local buf = assert(bufnr)
  api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  local where = goes_along.where
  local range = where and where.range
  if text() == '' then
    local options = { virt_text = { { placeholder(), 'LlamagentDim' } }, virt_text_pos = 'overlay' }
    api.nvim_buf_set_extmark(buf, ns, 0, 0, options)
  end
  if where and range then
    local name = vim.fn.fnamemodify(api.nvim_buf_get_name(where.bufnr), ':t')
    local stop = range['end'].character == 0 and range['end'].line or range['end'].line + 1
    local note = ('with %s:%d-%d'):format(name == '' and 'the selection' or name, range.start.line + 1, stop)
    local options = { virt_lines = { { { note, 'LlamagentKey' } } }, virt_lines_above = false }
    api.nvim_buf_set_extmark(buf, ns, api.nvim_buf_line_count(buf) - 1, 0, options)
  end
end

local function fit_height()
  local options = config.options.prompt
  for _, win in ipairs(vim.fn.win_findbuf(assert(bufnr))) do
    local needed = api.nvim_win_text_height(win, {}).all
    local height = math.max(options.height, math.min(needed, options.max_height))
    if api.nvim_win_get_height(win) ~= height then
      api.nvim_win_set_height(win, height)
    end
  end
end

---@param used vim.lsp.Client
---@param entry string
---@return boolean done whether it was a command
local function run_command(used, entry)
  local name, words = entry:match('^/([%a_]+)%s*(.-)%s*$')
  if not name then
    return false
  end
  local command = commands.find(name)
  if not command or command.hidden then
    require('llamagent.say').warn(('there is no command /%s. With a space before it, it is sent as text.'):format(name))
    set_text(entry)
    return true
  end
  require('llamagent.palette').run(command, { words = words, bang = false, bufnr = used and assert(bufnr) })
  return true
end

---@param steer boolean
local function send(steer)
  local used = owner and vim.lsp.get_client_by_id(owner)
  local entry = text()
  if not entry:find('%S') then
    return
  elseif not used then
    require('llamagent.say').warn('the server is not running. `:Llamagent restart` starts it.')
    return
  end
  vim.cmd.stopinsert()
  remember(entry)
  at, draft = 0, ''
  set_text('')
  local context = goes_along
  goes_along = {}
  if not run_command(used, entry) then
    local where = context.where
    if not where or not api.nvim_buf_is_valid(where.bufnr) then
      where = { bufnr = assert(bufnr) }
    end
    require('llamagent.actions').ask(used, vim.trim(entry), where, { mode = context.mode, steer = steer or nil })
  end
  decorate()
end

--- With a chosen match Enter takes it; else it sends.
local function enter()
  if vim.fn.pumvisible() == 1 and vim.fn.complete_info({ 'selected' }).selected >= 0 then
    api.nvim_feedkeys(vim.keycode('<C-y>'), 'ni', false)
  else
    send(false)
  end
end

---@param step 1|-1
---@param key string
---@return fun()
local function arrow(step, key)
  return function()
    local row = api.nvim_win_get_cursor(0)[1]
    local edge = step == 1 and 1 or api.nvim_buf_line_count(0)
    if row == edge and vim.fn.pumvisible() == 0 then
      browse(step)
    else
      api.nvim_feedkeys(vim.keycode(key), 'ni', false)
    end
  end
end

local function cancel()
  local used = owner and vim.lsp.get_client_by_id(owner)
  if used then
    require('llamagent.actions').run(used, 'cancel')
  end
end

-- Keys are put before what is typed already (`i`): a fast typist's next letters must not overtake them.
local function newline()
  api.nvim_feedkeys(vim.keycode('<CR>'), 'ni', false)
end

---@return llamagent.Key[]
local function prompt_keys()
  local map = config.options.keys.prompt
  local both = { 'n', 'i' }
  -- stylua: ignore
  return {
    { lhs = map.send, desc = 'send', run = enter, mode = both },
    { lhs = map.newline, desc = 'new line', run = newline, mode = 'i' },
    { lhs = map.steer, desc = 'say it to the running turn', run = function() send(true) end, mode = both },
    { lhs = map.cancel, desc = 'stop the turn', run = cancel, mode = both },
    { lhs = '<Up>', desc = 'earlier ask', run = arrow(1, '<Up>'), mode = both },
    { lhs = '<Down>', desc = 'later ask', run = arrow(-1, '<Down>'), mode = both },
    { lhs = 'q', desc = 'hide the panel', run = function() require('llamagent.panel').close() end },
  }
end

---@param used vim.lsp.Client
---@return boolean
local function serves_completion(used)
  return used:supports_method('textDocument/completion')
end

--- Offer matches while an `@` or `/` word is typed, as long as the server does not do it.
local function complete_typed()
  local used = owner and vim.lsp.get_client_by_id(owner)
  if not used or serves_completion(used) or vim.fn.pumvisible() == 1 then
    return
  end
  local row, column = unpack(api.nvim_win_get_cursor(0))
  local start, matches = completion.prompt(api.nvim_buf_get_lines(0, 0, -1, true), row, column, used)
  if not start or #matches == 0 then
    return
  end
  local word = api.nvim_get_current_line():sub(start + 1, column)
  if not completion.is_file(word:sub(2), used) and not (#matches == 1 and matches[1].word == word) then
    vim.fn.complete(start + 1, matches)
  end
end

--- The prompt is a document of the client that it speaks to, and of no other.
---@param used vim.lsp.Client
local function attach(used)
  local buf = assert(bufnr)
  if owner and owner ~= used.id and vim.lsp.buf_is_attached(buf, owner) then
    vim.lsp.buf_detach_client(buf, owner)
  end
  owner = used.id
  vim.b[buf].llamagent_client = used.id
  vim.b[buf].llamagent_root = used.root_dir
  if serves_completion(used) then
    vim.lsp.buf_attach_client(buf, used.id)
    vim.lsp.completion.enable(true, used.id, buf, { autotrigger = true })
  end
end

---@return integer
local function create()
  bufnr = api.nvim_create_buf(false, true)
  api.nvim_buf_set_name(bufnr, URI)
  vim.bo[bufnr].bufhidden = 'hide'
  vim.bo[bufnr].swapfile = false
  vim.bo[bufnr].completefunc = "v:lua.require'llamagent.completion'.completefunc"
  -- The only match must not be inserted while one types on.
  vim.bo[bufnr].completeopt = 'menuone,noinsert,noselect'
  keys.set(bufnr, prompt_keys())
  local group = api.nvim_create_augroup('llamagent.prompt', { clear = true })
  api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI', 'TextChangedP' }, {
    group = group,
    buffer = bufnr,
    callback = function()
      decorate()
      fit_height()
    end,
  })
  api.nvim_create_autocmd('TextChangedI', { group = group, buffer = bufnr, callback = complete_typed })
  vim.bo[bufnr].filetype = 'llamagent-prompt'
  return bufnr
end

--- Show the prompt under a panel's window, without taking the focus.
---@param used vim.lsp.Client
---@param panel_win integer
function M.open(used, panel_win)
  if not bufnr or not api.nvim_buf_is_valid(bufnr) then
    create()
  end
  attach(used)
  if not windows.here(bufnr) then
    local height = config.options.prompt.height
    local win = api.nvim_open_win(assert(bufnr), false, { split = 'below', win = panel_win, height = height })
    windows.dress(win, { winfixheight = true, statusline = '%#LlamagentDim# prompt' })
  end
  decorate()
end

--- Go to the prompt, in Insert mode.
---@param used vim.lsp.Client
---@param context? llamagent.PromptContext
function M.focus(used, context)
  local win = windows.here(bufnr)
  if not win then
    require('llamagent.panel').open(used)
    win = windows.here(bufnr)
  end
  goes_along = context or goes_along
  api.nvim_set_current_win(assert(win))
  vim.cmd('startinsert!')
  decorate()
end

return M

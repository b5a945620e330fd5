--- The panel: a split on the right that shows the conversation as it happens, above the prompt.
local M = {}

local api = vim.api
local batch = require('llamagent.batch')
local client = require('llamagent.client')
local config = require('llamagent.config')
local conversation = require('llamagent.conversation')
local keys = require('llamagent.keys')
local panelkeys = require('llamagent.panelkeys')
local transcript = require('llamagent.transcript')
local windows = require('llamagent.windows')

local EMPTY = 'Ask below. @file adds a file, /command runs a command, g? shows the keys.'
local TICK_MS = 1000 -- how often the seconds in the winbar are drawn while a turn runs
local ns_empty = api.nvim_create_namespace('llamagent.empty')

---@class llamagent.Panel
---@field client_id integer
---@field bufnr integer
---@field transcript llamagent.Transcript
---@field batch llamagent.Batch
---@field loading boolean whether the stored events are on their way
---@field last_seq integer of what is drawn
---@field pending llamagent.Event[] what came while loading

---@type table<integer, llamagent.Panel>
local panels = {}
local ticking = false

--- Windows that show this panel, in all tab pages.
---@param panel llamagent.Panel
---@return integer[]
local function windows_of(panel)
  return vim.fn.win_findbuf(panel.bufnr)
end

---@param win integer
---@param ranges {first: integer, last: integer}[]
local function make_folds(win, ranges)
  if #ranges == 0 then
    return
  end
  api.nvim_win_call(win, function()
    for _, range in ipairs(ranges) do
      vim.cmd(('silent! %d,%dfold'):format(range.first + 1, range.last + 1))
    end
  end)
end

--- Change the panel's text by `write`. Windows whose cursor is on the last line follow; where the person scrolled up,
--- nothing moves.
---@param panel llamagent.Panel
---@param write fun()
local function following(panel, write)
  local follow = vim.tbl_filter(windows.at_end, windows_of(panel))
  write()
  local folds = panel.transcript.page.unfolded
  panel.transcript.page.unfolded = {}
  for _, win in ipairs(windows_of(panel)) do
    make_folds(win, folds)
  end
  local last = api.nvim_buf_line_count(panel.bufnr)
  for _, win in ipairs(follow) do
    api.nvim_win_set_cursor(win, { last, 0 })
  end
end

---@param panel llamagent.Panel
local function show_empty(panel)
  api.nvim_buf_clear_namespace(panel.bufnr, ns_empty, 0, -1)
  if panel.transcript.page:bottom() == 0 then
    local options = { virt_text = { { EMPTY, 'LlamagentDim' } }, virt_text_pos = 'overlay' }
    api.nvim_buf_set_extmark(panel.bufnr, ns_empty, 0, 0, options)
  end
end

---@param panel llamagent.Panel
---@param events llamagent.Event[]
local function draw(panel, events)
  if not api.nvim_buf_is_valid(panel.bufnr) then
    return
  end
  local fresh = vim.tbl_filter(function(event)
    return event.seq > panel.last_seq
  end, events)
  if #fresh == 0 then
    return
  end
  panel.last_seq = fresh[#fresh].seq
  following(panel, function()
    panel.transcript:draw(fresh)
  end)
  show_empty(panel)
  vim.cmd.redrawstatus({ bang = true })
end

--- Draw what is stored of the current conversation, then what came meanwhile.
---@param panel llamagent.Panel
---@param used vim.lsp.Client
local function load(panel, used)
  panel.loading = true
  client.request(used, 'trace', { session = conversation.of(used.id).session }, function(result)
    panel.loading = false
    panel.last_seq = -1
    draw(panel, result and result.events or {})
    draw(panel, panel.pending)
    panel.pending = {}
    require('llamagent.prompt').learn(result and result.events or {})
    show_empty(panel)
  end)
end

---@param used vim.lsp.Client
---@return llamagent.Panel
local function create(used)
  local bufnr = api.nvim_create_buf(false, true)
  api.nvim_buf_set_name(bufnr, ('llamagent://panel/%d'):format(used.id))
  vim.bo[bufnr].bufhidden = 'hide'
  vim.bo[bufnr].undolevels = -1
  vim.bo[bufnr].modifiable = false
  vim.bo[bufnr].swapfile = false
  vim.b[bufnr].llamagent_client = used.id
  vim.b[bufnr].llamagent_root = used.root_dir
  local panel = {
    client_id = used.id,
    bufnr = bufnr,
    transcript = transcript.new(bufnr, used.root_dir),
    loading = false,
    last_seq = -1,
    pending = {},
  }
  panel.batch = batch.new(config.options.panel.batch_ms, function(events)
    draw(panel, events)
  end)
  vim.bo[bufnr].filetype = 'llamagent'
  keys.set(bufnr, panelkeys.keys(panel))
  panels[used.id] = panel
  return panel
end

---@param used vim.lsp.Client
---@return llamagent.Panel
---@return boolean is_new
local function of(used)
  local panel = panels[used.id]
  if panel and api.nvim_buf_is_valid(panel.bufnr) then
    return panel, false
  end
  return create(used), true
end

---@param win integer
---@param panel llamagent.Panel
local function dress(win, panel)
  windows.dress(win, {
    winbar = "%{%v:lua.require'llamagent.winbar'.winbar()%}",
    statusline = "%#LlamagentDim# %{v:lua.require'llamagent.winbar'.title()}",
    foldmethod = 'manual',
    foldenable = true,
    foldtext = "v:lua.require'llamagent.winbar'.foldtext()",
    winfixwidth = true,
  })
  make_folds(win, panel.transcript.page:folds())
  panel.transcript.page.unfolded = {}
  api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(panel.bufnr), 0 })
end

---@return integer
local function width()
  local wanted = config.options.panel.width
  local columns = wanted < 1 and math.floor(vim.o.columns * wanted) or wanted
  return math.max(36, math.min(columns, vim.o.columns - 20))
end

--- While a turn runs, the seconds in the winbar count.
local function tick()
  local running = vim.iter(vim.tbl_values(panels)):any(function(panel)
    return conversation.of(panel.client_id).running and #windows_of(panel) > 0
  end)
  ticking = running
  if running then
    vim.cmd.redrawstatus({ bang = true })
    vim.defer_fn(tick, TICK_MS)
  end
end

--- Show the panel of a client in this tab page, without taking the focus.
---@param used vim.lsp.Client
function M.open(used)
  local panel, is_new = of(used)
  local win = windows.here(panel.bufnr)
  if not win then
    M.close()
    win = api.nvim_open_win(panel.bufnr, false, { split = 'right', win = -1, width = width() })
    dress(win, panel)
  end
  require('llamagent.prompt').open(used, win)
  if is_new then
    load(panel, used)
  end
  show_empty(panel)
end

--- Hide every panel and prompt of this tab page.
function M.close()
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    local filetype = vim.bo[api.nvim_win_get_buf(win)].filetype
    local last = #api.nvim_tabpage_list_wins(0) == 1
    if (filetype == 'llamagent' or filetype == 'llamagent-prompt') and not last then
      pcall(api.nvim_win_close, win, true)
    end
  end
end

--- Show the panel, or hide it where it is shown.
---@param used vim.lsp.Client
function M.toggle(used)
  if M.is_visible(used.id) then
    M.close()
  else
    M.open(used)
  end
end

--- Whether the panel of a client is in this tab page.
---@param client_id integer
---@return boolean
function M.is_visible(client_id)
  local panel = panels[client_id]
  return panel ~= nil and windows.here(panel.bufnr) ~= nil
end

--- Draw a conversation anew from what the server stored of it.
---@param used vim.lsp.Client
function M.redraw(used)
  local panel = panels[used.id]
  if panel and api.nvim_buf_is_valid(panel.bufnr) then
    panel.batch.drop()
    panel.transcript:clear()
    load(panel, used)
  end
end

--- The server runs again, as another client: its panel takes the place of the old one.
---@param used vim.lsp.Client
function M.restarted(used)
  for id, panel in pairs(panels) do
    if id ~= used.id and not vim.lsp.get_client_by_id(id) then
      local shown = windows.here(panel.bufnr)
      panels[id] = nil
      if shown then
        M.open(used)
      end
      pcall(api.nvim_buf_delete, panel.bufnr, { force = true })
    end
  end
end

--- Write a line that is no event.
---@param client_id integer
---@param text string
function M.note(client_id, text)
  local panel = panels[client_id]
  if panel and api.nvim_buf_is_valid(panel.bufnr) then
    panel.batch.flush()
    following(panel, function()
      panel.transcript:note(text, 'LlamagentError')
    end)
    show_empty(panel)
  end
end

--- Say in the panel that something waits for the person; nil takes that away.
---@param client_id integer
---@param id string of the review or question
---@param text string?
function M.hint(client_id, id, text)
  local panel = panels[client_id]
  if panel and api.nvim_buf_is_valid(panel.bufnr) then
    panel.batch.flush()
    following(panel, function()
      panel.transcript:hint(id, text)
    end)
  end
end

conversation.listen(function(client_id, event)
  local panel = panels[client_id]
  if not panel or not api.nvim_buf_is_valid(panel.bufnr) then
    return
  end
  if panel.loading then
    table.insert(panel.pending, event)
  else
    panel.batch.push(event)
  end
  if event.kind == 'turn.ended' then
    panel.batch.flush()
  end
  if event.kind == 'turn.started' and not ticking then
    ticking = true
    vim.defer_fn(tick, TICK_MS)
  end
end)

return M

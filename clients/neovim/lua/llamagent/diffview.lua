--- The windows of a review: a tab page with the file on one side and the proposal on the other, as a live diff.
local M = {}

local api = vim.api
local accept = require('llamagent.accept')
local buffer = require('llamagent.buffer')
local config = require('llamagent.config')
local hunks = require('llamagent.hunks')
local keys = require('llamagent.keys')
local reviewkeys = require('llamagent.reviewkeys')
local say = require('llamagent.say')
local windows = require('llamagent.windows')

local SIDE_BY_SIDE_FROM = 110 -- columns

---@class llamagent.DiffView
---@field review llamagent.Review
---@field index integer which file is shown
---@field origin integer the tab page to go back to
---@field left integer window of the file
---@field right integer window of the proposal
---@field file_buf integer
---@field proposal_buf integer
---@field restore fun() gives the file's buffer its own keys back
---@field group integer

local view ---@type llamagent.DiffView?
local opened = 0 -- counts the proposals, so that their names differ

---@return llamagent.ReviewFile
local function current_file()
  local shown = assert(view)
  return shown.review.files[shown.index]
end

--- Whether a review is on the screen.
---@return boolean
function M.is_open()
  return view ~= nil
end

--- Highlight like the file, without the FileType event that would start language servers for a scratch buffer.
---@param bufnr integer
---@param filetype string
local function highlight_as(bufnr, filetype)
  local language = vim.treesitter.language.get_lang(filetype)
  if not (language and pcall(vim.treesitter.start, bufnr, language)) then
    vim.bo[bufnr].syntax = filetype
  end
end

---@param file llamagent.ReviewFile
---@return string
local function filetype_of(file)
  return file.bufnr and vim.bo[file.bufnr].filetype or vim.filetype.match({ filename = file.path }) or ''
end

---@param name string
---@param lines string[]
---@param filetype string
---@return integer bufnr
local function scratch(name, lines, filetype)
  opened = opened + 1
  local bufnr = api.nvim_create_buf(false, true)
  vim.bo[bufnr].undolevels = -1
  api.nvim_buf_set_lines(bufnr, 0, -1, true, lines)
  vim.bo[bufnr].undolevels = api.nvim_get_option_value('undolevels', { scope = 'global' })
  api.nvim_buf_set_name(bufnr, ('llamagent://review/%d/%s'):format(opened, name))
  vim.bo[bufnr].bufhidden = 'wipe'
  highlight_as(bufnr, filetype)
  return bufnr
end

--- The text above the proposal. Where the window is too narrow it is cut at its end, not at its beginning.
---@return string
function M.winbar()
  if not view then
    return ''
  end
  local list = hunks.of(view)
  local _, number = hunks.at_cursor(view, list)
  local map = config.options.keys.review
  local file = current_file()
  local parts = { ('%%#LlamagentEditor# proposal %d/%d'):format(view.index, #view.review.files) }
  if file.conflict then
    table.insert(parts, '%#LlamagentError# conflict')
  else
    local place = number > 0 and ('%d/%d'):format(number, #list) or tostring(#list)
    table.insert(parts, ('%%#LlamagentDim# hunk %s'):format(place))
  end
  local hints = ('%s accept  %s reject  %s/%s hunk  %s keys'):format(
    map.accept or ':w',
    map.reject or ':q',
    map.take or 'dp',
    map.refuse or 'do',
    map.help or ''
  )
  return table.concat(parts, ' ') .. '%#LlamagentKey#  ' .. hints:gsub('%%', '%%%%') .. '%*%<'
end

---@param file llamagent.ReviewFile
---@return string
local function file_winbar(file)
  local state = file.bufnr and (vim.bo[file.bufnr].readonly and ' (read-only)' or '') or ' (new file)'
  if file.goes then
    state = ' (goes away)'
  end
  local head = ('%%#LlamagentDim# %s%s'):format(file.name:gsub('%%', '%%%%'), state)
  local note = file.note and ('  %%#LlamagentWarn#%s'):format(file.note:gsub('%%', '%%%%')) or ''
  return head .. note .. '%<' -- cut at its end, not at its beginning
end

--- The proposal's buffer follows `file.proposed`, and the other way round.
local function redraw_proposal()
  local shown = assert(view)
  buffer.replace(shown.proposal_buf, current_file().proposed)
  vim.bo[shown.proposal_buf].modified = false
end

--- Something changed the file: the proposal is carried over, so that the diff shows only what the agent wants.
function M.follow_file()
  local shown = view
  if not shown or not current_file().bufnr then
    return
  end
  local file = current_file()
  local now = buffer.lines(shown.file_buf)
  if not vim.deep_equal(now, file.base) and accept.rebase(file, now) then
    redraw_proposal()
  end
  vim.cmd.redrawstatus()
end

---@param bufnr integer
local function watch_file(bufnr)
  local shown = assert(view)
  local scheduled = false
  local function changed()
    if view ~= shown or shown.file_buf ~= bufnr then
      return true
    end
    if not scheduled then
      scheduled = true
      vim.schedule(function()
        scheduled = false
        if view == shown and shown.file_buf == bufnr then
          M.follow_file()
        end
      end)
    end
  end
  api.nvim_buf_attach(bufnr, false, { on_lines = changed, on_reload = changed })
end

---@param bufnr integer
local function watch_proposal(bufnr)
  local shown = assert(view)
  local function accept_it()
    if view == shown then
      reviewkeys.accept(shown)
    end
  end
  vim.bo[bufnr].buftype = 'acwrite'
  vim.bo[bufnr].modified = false
  api.nvim_create_autocmd('BufWriteCmd', {
    group = shown.group,
    buffer = bufnr,
    callback = vim.schedule_wrap(accept_it),
  })
  api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI', 'TextChangedP' }, {
    group = shown.group,
    buffer = bufnr,
    callback = function()
      current_file().proposed = buffer.lines(bufnr)
      -- A changed proposal must not stand in the way of `:qa`: it is nothing that could be lost to a file.
      vim.bo[bufnr].modified = false
    end,
  })
  -- `:x` and `ZZ` write only what is modified, but who types them here means yes.
  api.nvim_create_autocmd('CmdlineLeave', {
    group = shown.group,
    callback = function()
      if api.nvim_get_current_buf() == bufnr and vim.fn.getcmdline():match('^x[it]*$') then
        vim.bo[bufnr].modified = true
      end
    end,
  })
  vim.keymap.set('n', 'ZZ', accept_it, { buffer = bufnr, desc = 'llamagent: accept' })
end

--- Closing either window, or the tab page, is a no to what is left.
local function watch_windows()
  local shown = assert(view)
  api.nvim_create_autocmd('WinClosed', {
    group = shown.group,
    callback = function(event)
      local win = tonumber(event.match)
      if view == shown and (win == shown.left or win == shown.right) then
        vim.schedule(function()
          require('llamagent.review').reject_rest(shown.review)
        end)
      end
    end,
  })
end

-- To Neovim both sides of a diff are alike: what only one side has is "added". Here one side is the future.
local REMOVED = 'DiffAdd:LlamagentDiffRemoved,DiffDelete:LlamagentDiffFill'
local ADDED = 'DiffDelete:LlamagentDiffFill'

---@param win integer
---@param bufnr integer
---@param options table<string, any>
local function put_in_window(win, bufnr, options)
  windows.set(win, { winfixbuf = false, diff = false })
  api.nvim_win_set_buf(win, bufnr)
  local common = { winfixbuf = true, foldenable = true, spell = false, cursorline = false, fillchars = 'diff:╱' }
  windows.set(win, vim.tbl_extend('force', common, options))
  api.nvim_win_call(win, vim.cmd.diffthis)
end

--- Show a file of the review that is open.
---@param review llamagent.Review
---@param index integer
function M.show_file(review, index)
  local shown = view
  if not shown or shown.review ~= review then
    return
  end
  shown.restore()
  shown.index = index
  local file = review.files[index]
  shown.file_buf = file.bufnr or scratch('new/' .. file.name, {}, filetype_of(file))
  if not file.bufnr then
    vim.bo[shown.file_buf].modifiable = false
  end
  shown.proposal_buf = scratch(file.name, file.proposed, filetype_of(file))
  put_in_window(shown.left, shown.file_buf, { winbar = file_winbar(file), winhighlight = REMOVED })
  local winbar = "%{%v:lua.require'llamagent.diffview'.winbar()%}"
  put_in_window(shown.right, shown.proposal_buf, { winbar = winbar, winhighlight = ADDED })
  watch_proposal(shown.proposal_buf)
  local map = reviewkeys.keys(shown)
  local give_back = keys.set(shown.file_buf, map)
  keys.set(shown.proposal_buf, map)
  shown.restore = give_back
  if file.bufnr then
    watch_file(file.bufnr)
    M.follow_file()
  end
  api.nvim_set_current_win(shown.right)
  vim.cmd('normal! gg')
  pcall(vim.cmd, 'normal! ]c')
end

--- Open the tab page of a review.
---@param review llamagent.Review
function M.open(review)
  if view then
    if view.review == review then
      api.nvim_set_current_win(view.right)
    end
    return
  end
  local origin = api.nvim_get_current_tabpage()
  vim.cmd('tab sbuffer ' .. scratch('opening', {}, ''))
  local left = api.nvim_get_current_win()
  windows.set(left, { winbar = '', winfixbuf = false, winfixwidth = false, winfixheight = false })
  local layout = config.options.review.layout
  local side = layout == 'side' or (layout == 'auto' and vim.o.columns >= SIDE_BY_SIDE_FROM)
  local right = api.nvim_open_win(0, true, { split = side and 'right' or 'below', win = left })
  view = {
    review = review,
    index = 1,
    origin = origin,
    left = left,
    right = right,
    file_buf = 0,
    proposal_buf = 0,
    restore = function() end,
    group = api.nvim_create_augroup('llamagent.review', { clear = true }),
  }
  watch_windows()
  for index, file in ipairs(review.files) do
    if not file.decision then
      M.show_file(review, index)
      break
    end
  end
  say.event('ReviewOpened', { client_id = review.client_id, id = review.id })
end

--- Show, in the proposal, where the person's changes and the agent's touch the same lines.
---@param review llamagent.Review
---@param file llamagent.ReviewFile
function M.show_conflict(review, file)
  M.open(review)
  if not view or view.review ~= review then
    return
  end
  local text = 'you and the agent changed the same lines of %s: settle it between the marks, then accept'
  say.warn(text:format(file.name))
  if current_file() == file then
    redraw_proposal()
    api.nvim_set_current_win(view.right)
    vim.fn.search('^<<<<<<< ', 'cw')
  end
end

--- Close the windows of a review and go back to where the person was.
---@param review llamagent.Review
function M.close(review)
  local shown = view
  if not shown or shown.review ~= review then
    return
  end
  view = nil
  shown.restore()
  pcall(api.nvim_del_augroup_by_id, shown.group)
  local in_review = vim.tbl_contains({ shown.left, shown.right }, api.nvim_get_current_win())
  for _, win in ipairs({ shown.left, shown.right }) do
    if api.nvim_win_is_valid(win) then
      windows.set(win, { diff = false, winfixbuf = false, winbar = '', winhighlight = '', fillchars = '' })
      pcall(api.nvim_win_close, win, true)
    end
  end
  if in_review and api.nvim_tabpage_is_valid(shown.origin) then
    api.nvim_set_current_tabpage(shown.origin)
  end
end

return M

--- The windows of a review: a tab page with the file on one side and the proposal on the other, as a live diff.
local M = {}

local api = vim.api
local accept = require('llamagent.accept')
local buffer = require('llamagent.buffer')
local config = require('llamagent.config')
local keys = require('llamagent.keys')
local merge = require('llamagent.merge')
local say = require('llamagent.say')

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

---@param win integer
---@param options table<string, any>
local function set_window(win, options)
  for name, value in pairs(options) do
    api.nvim_set_option_value(name, value, { scope = 'local', win = win })
  end
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

---@return llamagent.Hunk[]
local function hunks()
  local shown = assert(view)
  return merge.hunks(buffer.lines(shown.file_buf), buffer.lines(shown.proposal_buf))
end

--- The hunk at or before the cursor, and its number. A hunk without lines on this side belongs to the line before it.
---@param list llamagent.Hunk[]
---@return llamagent.Hunk?
---@return integer
local function hunk_at_cursor(list)
  local shown = assert(view)
  local in_file = api.nvim_get_current_win() == shown.left
  local win = in_file and shown.left or shown.right
  local line = api.nvim_win_get_cursor(win)[1]
  for number, hunk in ipairs(list) do
    local first = in_file and hunk.a_first or hunk.b_first
    local last = in_file and hunk.a_last or hunk.b_last
    if line >= math.min(first, last) and line <= math.max(first, last) then
      return hunk, number
    end
  end
  return nil, 0
end

--- The text above the proposal, short enough for a narrow window: Neovim cuts it from the left.
---@return string
function M.winbar()
  if not view then
    return ''
  end
  local list = hunks()
  local _, number = hunk_at_cursor(list)
  local map = config.options.keys.review
  local file = current_file()
  local parts = { ('%%#LlamagentEditor# proposal %d/%d'):format(view.index, #view.review.files) }
  if file.conflict then
    table.insert(parts, '%#LlamagentError# you changed the same lines: settle it between the marks')
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
  return table.concat(parts, ' ') .. '%#LlamagentKey#  ' .. hints:gsub('%%', '%%%%') .. '%*'
end

---@param file llamagent.ReviewFile
---@return string
local function file_winbar(file)
  local state = file.bufnr and (vim.bo[file.bufnr].readonly and ' (read-only)' or '') or ' (new file)'
  return ('%%#LlamagentDim# %s%s'):format(file.name:gsub('%%', '%%%%'), state)
end

--- The proposal's buffer follows `file.proposed`, and the other way round.
local function redraw_proposal()
  local shown = assert(view)
  buffer.replace(shown.proposal_buf, current_file().proposed)
  vim.bo[shown.proposal_buf].modified = false
end

--- All hunks are settled: the file is as the person wants it.
local function settle_if_done()
  local shown = assert(view)
  local file = current_file()
  if #hunks() > 0 then
    return
  end
  local review = require('llamagent.review')
  if file.taken then
    review.accept(shown.review, file)
  else
    review.reject(shown.review, file)
  end
end

local function take_hunk()
  local file = current_file()
  local hunk = hunk_at_cursor(hunks())
  if not hunk then
    say.info('no hunk here: ]c and [c go to one')
  elseif not file.bufnr then
    require('llamagent.review').accept(assert(view).review, file)
  else
    local problem = accept.put_hunk(file, hunk)
    if problem then
      say.warn(problem)
    else
      M.follow_file()
      settle_if_done()
    end
  end
end

local function refuse_hunk()
  local shown = assert(view)
  local hunk = hunk_at_cursor(hunks())
  if not hunk then
    say.info('no hunk here: ]c and [c go to one')
    return
  end
  local there = api.nvim_buf_get_lines(shown.file_buf, hunk.a_first - 1, hunk.a_last, true)
  api.nvim_buf_set_lines(shown.proposal_buf, hunk.b_first - 1, hunk.b_last, true, there)
  current_file().proposed = buffer.lines(shown.proposal_buf)
  settle_if_done()
end

local function accept_file()
  local shown = assert(view)
  require('llamagent.review').accept(shown.review, current_file())
end

local function accept_more()
  local shown, file = assert(view), current_file()
  local choices = {
    { 'Every edit of this turn to ' .. file.name, 'file' },
    { 'Every edit of this turn', 'turn' },
  }
  if #shown.review.files > 1 then
    table.insert(choices, 1, { 'All files of this proposal', 'all' })
  end
  local options = {
    prompt = 'Accept without asking again:',
    kind = 'llamagent.accept',
    format_item = function(item)
      return item[1]
    end,
  }
  vim.ui.select(choices, options, function(choice)
    local review = require('llamagent.review')
    if choice and choice[2] == 'all' then
      review.accept_all(shown.review)
    elseif choice then
      review.accept_more(shown.review, choice[2], file)
    end
  end)
end

local function reject_file()
  local shown, file = assert(view), current_file()
  vim.ui.input({ prompt = 'Why not (for the model; may be empty)? ' }, function(reason)
    if reason then
      require('llamagent.review').reject(shown.review, file, reason)
    end
  end)
end

---@param step 1|-1
local function go_to_file(step)
  local shown = assert(view)
  local index = shown.index
  repeat
    index = (index - 1 + step) % #shown.review.files + 1
  until index == shown.index or not shown.review.files[index].decision
  M.show_file(shown.review, index)
end

---@return llamagent.Key[]
local function review_keys()
  local map = config.options.keys.review
  local list = {
    { lhs = map.accept, desc = 'accept what is left (also :w)', run = accept_file },
    { lhs = map.accept_more, desc = 'accept this and more without asking …', run = accept_more },
    { lhs = map.reject, desc = 'reject, and say why', run = reject_file },
    { lhs = map.take, desc = 'take this hunk into the file now', run = take_hunk },
    { lhs = map.refuse, desc = 'refuse this hunk', run = refuse_hunk },
  }
  -- stylua: ignore
  vim.list_extend(list, {
    { lhs = map.next_file, desc = 'next file of the proposal', run = function() go_to_file(1) end },
    { lhs = map.previous_file, desc = 'previous file', run = function() go_to_file(-1) end },
  })
  table.insert(list, {
    lhs = map.help,
    desc = 'these keys',
    run = function()
      local lines = keys.help(list)
      vim.list_extend(lines, { ']c [c     next, previous hunk', ':q       reject what is left' })
      require('llamagent.report').show('Review', lines)
    end,
  })
  return list
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
  vim.bo[bufnr].buftype = 'acwrite'
  vim.bo[bufnr].modified = false
  api.nvim_create_autocmd('BufWriteCmd', { group = shown.group, buffer = bufnr, callback = vim.schedule_wrap(accept_file) })
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
  vim.keymap.set('n', 'ZZ', accept_file, { buffer = bufnr, desc = 'llamagent: accept' })
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

---@param win integer
---@param bufnr integer
---@param winbar string
local function put_in_window(win, bufnr, winbar)
  set_window(win, { winfixbuf = false, diff = false })
  api.nvim_win_set_buf(win, bufnr)
  set_window(win, { winfixbuf = true, winbar = winbar, foldenable = true, spell = false, cursorline = true })
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
  put_in_window(shown.left, shown.file_buf, file_winbar(file))
  put_in_window(shown.right, shown.proposal_buf, "%{%v:lua.require'llamagent.diffview'.winbar()%}")
  watch_proposal(shown.proposal_buf)
  local map = review_keys()
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
  set_window(left, { winbar = '', winfixbuf = false, winfixwidth = false, winfixheight = false })
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
  say.warn(('you and the agent changed the same lines of %s: settle it between the marks, then accept'):format(file.name))
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
      set_window(win, { diff = false, winfixbuf = false, winbar = '' })
      pcall(api.nvim_win_close, win, true)
    end
  end
  if in_review and api.nvim_tabpage_is_valid(shown.origin) then
    api.nvim_set_current_tabpage(shown.origin)
  end
end

return M

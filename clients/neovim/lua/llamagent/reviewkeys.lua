--- What the keys of a review do: take and refuse hunks, accept, reject, go from file to file.
local M = {}

local api = vim.api
local accept = require('llamagent.accept')
local buffer = require('llamagent.buffer')
local config = require('llamagent.config')
local hunks = require('llamagent.hunks')
local keys = require('llamagent.keys')
local say = require('llamagent.say')

---@param view llamagent.DiffView
---@return llamagent.ReviewFile
local function file_of(view)
  return view.review.files[view.index]
end

--- Where no hunk is left, the file is as the person wants it.
---@param view llamagent.DiffView
local function settle_if_done(view)
  if #hunks.of(view) > 0 then
    return
  end
  local review, file = require('llamagent.review'), file_of(view)
  if file.taken then
    review.accept(view.review, file)
  else
    review.reject(view.review, file)
  end
end

---@param view llamagent.DiffView
---@return llamagent.Hunk?
local function hunk_here(view)
  local hunk = hunks.at_cursor(view, hunks.of(view))
  if not hunk then
    say.info('no hunk here: ]c and [c go to one')
  end
  return hunk
end

--- Put the hunk under the cursor into the file now.
---@param view llamagent.DiffView
function M.take(view)
  local file, hunk = file_of(view), hunk_here(view)
  if not hunk then
    return
  elseif not file.bufnr then
    M.accept(view)
    return
  end
  local problem = accept.put_hunk(file, hunk)
  if problem then
    say.warn(problem)
  else
    require('llamagent.diffview').follow_file()
    settle_if_done(view)
  end
end

--- Take the hunk under the cursor out of the proposal.
---@param view llamagent.DiffView
function M.refuse(view)
  local hunk = hunk_here(view)
  if hunk then
    local there = api.nvim_buf_get_lines(view.file_buf, hunk.a_first - 1, hunk.a_last, true)
    api.nvim_buf_set_lines(view.proposal_buf, hunk.b_first - 1, hunk.b_last, true, there)
    file_of(view).proposed = buffer.lines(view.proposal_buf)
    settle_if_done(view)
  end
end

--- Accept what is left for this file.
---@param view llamagent.DiffView
function M.accept(view)
  require('llamagent.review').accept(view.review, file_of(view))
end

--- Accept this, and choose what else without asking.
---@param view llamagent.DiffView
function M.accept_more(view)
  local file = file_of(view)
  local choices = {
    { 'Every edit of this turn to ' .. file.name, 'file' },
    { 'Every edit of this turn', 'turn' },
  }
  if #view.review.files > 1 then
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
      review.accept_all(view.review)
    elseif choice then
      review.accept_more(view.review, choice[2], file)
    end
  end)
end

--- Reject what is left for this file, with the person's reason.
---@param view llamagent.DiffView
function M.reject(view)
  local file = file_of(view)
  vim.ui.input({ prompt = 'Why not (for the model; may be empty)? ' }, function(reason)
    if reason then
      require('llamagent.review').reject(view.review, file, reason)
    end
  end)
end

--- Reject all that is left, and end the turn.
---@param view llamagent.DiffView
function M.reject_and_stop(view)
  require('llamagent.review').reject_and_stop(view.review)
end

---@param view llamagent.DiffView
---@param step 1|-1
local function go_to_file(view, step)
  local index = view.index
  repeat
    index = (index - 1 + step) % #view.review.files + 1
  until index == view.index or not view.review.files[index].decision
  require('llamagent.diffview').show_file(view.review, index)
end

--- The keys of a review.
---@param view llamagent.DiffView
---@return llamagent.Key[]
function M.keys(view)
  local map = config.options.keys.review
  local help = {}
  local function show_help()
    require('llamagent.report').show('Review', help)
  end
  -- stylua: ignore
  local list = {
    { lhs = map.accept, desc = 'accept what is left (also :w)', run = function() M.accept(view) end },
    { lhs = map.accept_more, desc = 'accept this and more without asking …', run = function() M.accept_more(view) end },
    { lhs = map.reject, desc = 'reject, and say why', run = function() M.reject(view) end },
    { lhs = map.reject_and_stop, desc = 'reject, and end the turn', run = function() M.reject_and_stop(view) end },
    { lhs = map.take, desc = 'take this hunk into the file now', run = function() M.take(view) end },
    { lhs = map.refuse, desc = 'refuse this hunk', run = function() M.refuse(view) end },
    { lhs = map.next_file, desc = 'next file of the proposal', run = function() go_to_file(view, 1) end },
    { lhs = map.previous_file, desc = 'previous file', run = function() go_to_file(view, -1) end },
    { lhs = map.help, desc = 'these keys', run = show_help },
  }
  vim.list_extend(help, keys.help(list))
  vim.list_extend(help, { ']c [c     next, previous hunk', ':q       reject what is left' })
  return list
end

return M

--- Reviews from the proposal to the answer: who waits, what was decided, and what the server is told.
local M = {}

local accept = require('llamagent.accept')
local config = require('llamagent.config')
local conversation = require('llamagent.conversation')
local diffview = require('llamagent.diffview')
local focus = require('llamagent.focus')
local proposal = require('llamagent.proposal')
local say = require('llamagent.say')

---@class llamagent.Review
---@field id string
---@field client_id integer
---@field turn? string the turn that it belongs to
---@field label string
---@field files llamagent.ReviewFile[]
---@field reasons string[] the person's words
---@field over boolean
---@field answer fun(result: llamagent.ApplyEditAnswer)

---@class llamagent.StandingOrder
---@field all boolean every edit of this turn
---@field files table<string, true> the edits of this turn to these URIs

---@type llamagent.Review[]
local open = {}

---@type table<integer, llamagent.StandingOrder>
local orders = {}

---@param review llamagent.Review
---@return vim.lsp.Client?
local function client_of(review)
  return vim.lsp.get_client_by_id(review.client_id)
end

--- Buffers that were loaded only to be looked at go again, unless the person has begun to use them.
---@param review llamagent.Review
local function drop_unused(review)
  for _, file in ipairs(review.files) do
    local bufnr = file.bufnr
    local unused = file.loaded_now and file.decision ~= 'accepted' and not file.taken
    if unused and bufnr and vim.api.nvim_buf_is_valid(bufnr) and not vim.bo[bufnr].modified then
      if #vim.fn.win_findbuf(bufnr) == 0 then
        vim.api.nvim_buf_delete(bufnr, {})
      end
    end
  end
end

---@param review llamagent.Review
---@return boolean
local function anything_applied(review)
  return vim.iter(review.files):any(function(file)
    return file.decision == 'accepted' or file.taken
  end)
end

--- Say what became of the review, once. Changes still held back go out first, so that the server reads what is there.
---@param review llamagent.Review
local function finish(review)
  if review.over then
    return
  end
  review.over = true
  open = vim.tbl_filter(function(other)
    return other ~= review
  end, open)
  diffview.close(review)
  drop_unused(review)
  local client = client_of(review)
  if client and not client:is_stopped() then
    client:notify('$/setTrace', { value = 'off' })
  end
  local reason = #review.reasons > 0 and table.concat(review.reasons, '; ') or nil
  local applied = anything_applied(review)
  review.answer({ applied = applied, failureReason = reason })
  require('llamagent.panel').hint(review.client_id, review.id, nil)
  say.event('ReviewClosed', { client_id = review.client_id, id = review.id, applied = applied })
  M.present_next()
end

---@param review llamagent.Review
---@param file llamagent.ReviewFile
---@param decision 'accepted'|'rejected'
local function decide(review, file, decision)
  file.decision = decision
  for index, other in ipairs(review.files) do
    if not other.decision then
      diffview.show_file(review, index)
      return
    end
  end
  finish(review)
end

---@param review llamagent.Review
---@param file llamagent.ReviewFile
---@param problem string
local function fail(review, file, problem)
  table.insert(review.reasons, problem)
  say.warn(problem)
  decide(review, file, 'rejected')
end

--- Accept what is left of the proposal for one file. A conflict is shown instead, and the review goes on.
---@param review llamagent.Review
---@param file llamagent.ReviewFile
---@return boolean settled
function M.accept(review, file)
  local client = client_of(review)
  if review.over or file.decision or not client then
    return false
  end
  local outcome, problem = accept.put(file, client)
  if outcome == 'done' then
    decide(review, file, 'accepted')
  elseif problem then
    fail(review, file, problem)
  else
    diffview.show_conflict(review, file)
  end
  return file.decision ~= nil
end

--- Reject what is left of the proposal for one file.
---@param review llamagent.Review
---@param file llamagent.ReviewFile
---@param reason? string the person's words, for the model
function M.reject(review, file, reason)
  if review.over or file.decision then
    return
  end
  if reason and reason ~= '' then
    table.insert(review.reasons, #review.files > 1 and ('%s: %s'):format(file.name, reason) or reason)
  end
  decide(review, file, file.taken and 'accepted' or 'rejected')
end

--- Reject whatever is undecided in a review: what closing its windows means.
---@param review llamagent.Review
---@param reason? string
function M.reject_rest(review, reason)
  if review.over then
    return
  end
  if reason and reason ~= '' then
    table.insert(review.reasons, reason)
  end
  for _, file in ipairs(review.files) do
    file.decision = file.decision or (file.taken and 'accepted' or 'rejected')
  end
  finish(review)
end

--- Accept all files of a review. Answers whether all could be: a conflict keeps it open.
---@param review llamagent.Review
---@return boolean
function M.accept_all(review)
  for _, file in ipairs(review.files) do
    if not file.decision and not M.accept(review, file) then
      return false
    end
  end
  return true
end

--- Accept this review, and without asking what comes later in this turn.
---@param review llamagent.Review
---@param scope 'file'|'turn'
---@param file llamagent.ReviewFile
function M.accept_more(review, scope, file)
  local order = orders[review.client_id] or { all = false, files = {} }
  orders[review.client_id] = order
  order.all = order.all or scope == 'turn'
  order.files[file.uri] = true
  if scope == 'turn' then
    M.accept_all(review)
  else
    M.accept(review, file)
  end
end

---@param review llamagent.Review
---@return boolean
local function ordered(review)
  local order = orders[review.client_id]
  return order ~= nil and vim.iter(review.files):all(function(file)
    return order.all or order.files[file.uri]
  end)
end

---@param review llamagent.Review
---@return integer lines that the proposal adds and removes
local function size(review)
  local sum = 0
  for _, file in ipairs(review.files) do
    sum = sum + file.added + file.removed
  end
  return sum
end

--- Whether a review can be answered in the panel, without looking at the file.
---@param review llamagent.Review
---@return boolean
function M.is_small(review)
  return size(review) <= config.options.review.small
end

--- What the panel says under the proposal's diff.
---@param review llamagent.Review
---@return string
local function hint(review)
  local map = config.options.keys.panel
  local parts = {}
  if M.is_small(review) and map.accept then
    table.insert(parts, map.accept .. ' accept')
  end
  if map.view then
    table.insert(parts, map.view .. ' see it in the file')
  end
  if map.reject then
    table.insert(parts, map.reject .. ' reject')
  end
  return 'waits for you: ' .. table.concat(parts, '  ')
end

---@param review llamagent.Review
local function present(review)
  local names = vim.iter(review.files):map(function(file)
    return file.name
  end)
  local what = names:join(', ')
  say.event('Review', { client_id = review.client_id, id = review.id, files = what })
  require('llamagent.panel').hint(review.client_id, review.id, hint(review))
  if M.is_small(review) and require('llamagent.panel').is_visible(review.client_id) then
    return
  end
  focus.when_free(function()
    M.show(review)
  end, function()
    return not review.over and not diffview.is_open()
  end, function()
    say.info(('an edit of %s waits for your review (:Llamagent review)'):format(what))
  end)
end

--- Show the oldest review that waits, once no other is shown.
function M.present_next()
  if open[1] and not diffview.is_open() then
    present(open[1])
  end
end

--- Take in an edit that the server proposes.
---@param params lsp.ApplyWorkspaceEditParams
---@param client_id integer
---@param answer fun(result: llamagent.ApplyEditAnswer)
function M.receive(params, client_id, answer)
  local client = vim.lsp.get_client_by_id(client_id)
  local read, problem ---@type llamagent.Proposal?, string?
  if client then
    read, problem = proposal.read(params, client)
  end
  if not read then
    answer({ applied = false, failureReason = problem or 'the client is gone' })
    return
  end
  local review = {
    id = read.id,
    client_id = client_id,
    turn = conversation.of(client_id).turn,
    label = read.label,
    files = read.files,
    reasons = {},
    over = false,
    answer = answer,
  }
  table.insert(open, review)
  if ordered(review) and M.accept_all(review) then
    return
  end
  if not diffview.is_open() then
    present(review)
  end
end

--- Open the diff of a review.
---@param review llamagent.Review
function M.show(review)
  if not review.over then
    diffview.open(review)
  end
end

--- The review that waits longest, of one client or of any.
---@param client_id? integer
---@return llamagent.Review?
function M.next(client_id)
  return vim.iter(open):find(function(review)
    return client_id == nil or review.client_id == client_id
  end)
end

--- How many reviews of a client wait.
---@param client_id integer
---@return integer
function M.waiting(client_id)
  return #vim.tbl_filter(function(review)
    return review.client_id == client_id
  end, open)
end

---@param matches fun(review: llamagent.Review): boolean
---@param reason string
local function reject_matching(matches, reason)
  for _, review in ipairs(vim.tbl_filter(matches, open)) do
    M.reject_rest(review, reason)
  end
end

--- The server took a proposal back: a late yes would do nothing.
---@param id string
function M.withdraw(id)
  reject_matching(function(review)
    return review.id == id
  end, 'the proposal was withdrawn')
end

--- A turn ended: its standing orders end with it, and whatever still waits of it.
---@param client_id integer
function M.turn_over(client_id)
  orders[client_id] = nil
  reject_matching(function(review)
    return review.client_id == client_id and review.turn ~= nil
  end, 'the turn ended')
end

--- The server is gone: nobody waits for these answers.
---@param client_id integer
function M.server_gone(client_id)
  reject_matching(function(review)
    return review.client_id == client_id
  end, 'the server is gone')
end

return M

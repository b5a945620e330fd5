--- Reviews from the proposal to the answer: who waits, what was decided, and what the server is told.
local M = {}

local accept = require('llamagent.accept')
local conversation = require('llamagent.conversation')
local diffview = require('llamagent.diffview')
local presenting = require('llamagent.presenting')
local proposal = require('llamagent.proposal')
local removal = require('llamagent.removal')
local say = require('llamagent.say')

---@class llamagent.Review
---@field id string
---@field client_id integer
---@field turn? string the turn that it belongs to
---@field label string
---@field files llamagent.ReviewFile[]
---@field reasons string[] the person's words
---@field failures table<string, string> why the edit of a file could not be made, by its URI
---@field over boolean
---@field stop? boolean whether a no ends the turn
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
  removal.forget(review)
  drop_unused(review)
  local client = client_of(review)
  if client and not client:is_stopped() then
    client:notify('$/setTrace', { value = 'off' })
  end
  local reason = #review.reasons > 0 and table.concat(review.reasons, '; ') or nil
  local applied = anything_applied(review)
  review.answer({
    applied = applied,
    failureReason = reason,
    stop = not applied and review.stop or nil,
    failed = next(review.failures) and review.failures or nil,
  })
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
  review.failures[file.uri] = problem
  say.warn(problem)
  decide(review, file, 'rejected')
end

--- Accept what is left of the proposal for one file; false where the person has to settle a conflict first.
---@param review llamagent.Review
---@param file llamagent.ReviewFile
---@return boolean settled
local function accept_file(review, file)
  local client = client_of(review)
  if review.over or file.decision or not client then
    return false
  end
  local outcome, problem = accept.put(file, client)
  if outcome == 'done' then
    decide(review, file, 'accepted')
  elseif problem then
    fail(review, file, problem)
  end
  return file.decision ~= nil
end

--- Accept all files of a review; answers the first one that has a conflict.
---@param review llamagent.Review
---@return llamagent.ReviewFile? conflict
local function accept_files(review)
  for _, file in ipairs(review.files) do
    if not file.decision and not accept_file(review, file) then
      return file
    end
  end
end

--- The person accepts what is left of the proposal for one file. A conflict is shown, and the review goes on.
---@param review llamagent.Review
---@param file llamagent.ReviewFile
function M.accept(review, file)
  if not review.over and not file.decision and not accept_file(review, file) then
    diffview.show_conflict(review, file)
  end
end

--- The person rejects whatever is undecided, and ends the turn with that.
---@param review llamagent.Review
function M.reject_and_stop(review)
  review.stop = true
  M.reject_rest(review)
end

--- The person accepts all files of a review.
---@param review llamagent.Review
function M.accept_all(review)
  local conflict = not review.over and accept_files(review)
  if conflict then
    diffview.show_conflict(review, conflict)
  end
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

--- Show the oldest review that waits, once no other is shown.
function M.present_next()
  if open[1] and not diffview.is_open() then
    presenting.present(open[1])
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
    answer({ applied = false, failed = true, failureReason = problem or 'the client is gone' })
    return
  end
  local notes = conversation.notes(client_id, read.id)
  for _, file in ipairs(read.files) do
    -- Beside a turn there is no trace: the label says it then.
    file.note = notes and notes[file.uri] or (not notes and file.goes and read.label:match('%((.+)%)$')) or nil
  end
  local review = {
    id = read.id,
    client_id = client_id,
    turn = conversation.of(client_id).turn,
    label = read.label,
    files = read.files,
    reasons = {},
    failures = {},
    over = false,
    answer = answer,
  }
  table.insert(open, review)
  if ordered(review) and not accept_files(review) then
    return
  end
  if not diffview.is_open() then
    presenting.present(review)
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

--- What the keys of the panel do: answer what waits, go from turn to turn, stop, hide.
local M = {}

local api = vim.api
local config = require('llamagent.config')
local keys = require('llamagent.keys')
local say = require('llamagent.say')

---@param panel llamagent.Panel
---@param step 1|-1
local function go_to_turn(panel, step)
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local rows = panel.transcript.page:turns()
  local target = vim.iter(step == 1 and rows or vim.iter(rows):rev():totable()):find(function(turn)
    return step == 1 and turn > row or step == -1 and turn < row
  end)
  if target then
    api.nvim_win_set_cursor(0, { target + 1, 0 })
  end
end

---@param panel llamagent.Panel
---@param act fun(review: llamagent.Review)
local function with_review(panel, act)
  local review = require('llamagent.review').next(panel.client_id)
  if review then
    act(review)
  elseif not require('llamagent.questions').show_next() then
    say.info('nothing waits for you.')
  end
end

---@param panel llamagent.Panel
local function accept_here(panel)
  with_review(panel, function(review)
    local reviews = require('llamagent.review')
    if require('llamagent.presenting').is_small(review) then
      reviews.accept_all(review)
    else
      reviews.show(review)
    end
  end)
end

---@param panel llamagent.Panel
local function reject_here(panel)
  with_review(panel, function(review)
    vim.ui.input({ prompt = 'Why not (for the model; may be empty)? ' }, function(reason)
      if reason then
        require('llamagent.review').reject_rest(review, reason)
      end
    end)
  end)
end

---@param panel llamagent.Panel
---@param run fun(used: vim.lsp.Client)
---@return fun()
local function with_client(panel, run)
  return function()
    local used = vim.lsp.get_client_by_id(panel.client_id)
    if used then
      run(used)
    else
      say.warn('the server is not running. `:Llamagent restart` starts it.')
    end
  end
end

--- The keys of a panel.
---@param panel llamagent.Panel
---@return llamagent.Key[]
function M.keys(panel)
  local map = config.options.keys.panel
  local review = require('llamagent.review')
  local prompt = with_client(panel, function(used)
    require('llamagent.prompt').focus(used)
  end)
  local cancel = with_client(panel, function(used)
    require('llamagent.actions').run(used, 'cancel')
  end)
  local help = {}
  -- stylua: ignore
  local list = {
    { lhs = map.prompt, desc = 'write a prompt', run = prompt },
    { lhs = map.cancel, desc = 'stop the turn', run = cancel },
    { lhs = map.accept, desc = 'accept the edit that waits', run = function() accept_here(panel) end },
    { lhs = map.reject, desc = 'reject it, and say why', run = function() reject_here(panel) end },
    { lhs = map.view, desc = 'see it as a diff of the file', run = function() with_review(panel, review.show) end },
    { lhs = map.next_turn, desc = 'next turn', run = function() go_to_turn(panel, 1) end },
    { lhs = map.previous_turn, desc = 'previous turn', run = function() go_to_turn(panel, -1) end },
    { lhs = map.close, desc = 'hide the panel', run = require('llamagent.panel').close },
    { lhs = map.help, desc = 'these keys', run = function() require('llamagent.report').show('Panel', help) end },
  }
  vim.list_extend(help, keys.help(list))
  vim.list_extend(help, { 'za zR zM  open and close folds', 'G         follow what comes' })
  return list
end

return M

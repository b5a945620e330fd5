--- How a review comes before the person: a line in the panel, and the diff when nothing is interrupted by it.
local M = {}

local config = require('llamagent.config')
local diffview = require('llamagent.diffview')
local focus = require('llamagent.focus')
local say = require('llamagent.say')

---@param review llamagent.Review
---@return integer lines that the proposal adds and removes
local function size(review)
  local sum = 0
  for _, file in ipairs(review.files) do
    sum = sum + file.added + file.removed
  end
  return sum
end

--- Whether a review can be answered in the panel, without looking at the file. What is proposed beside a turn has no
--- diff there, and a file that goes is worth a look.
---@param review llamagent.Review
---@return boolean
function M.is_small(review)
  local goes = vim.iter(review.files):any(function(file)
    return file.goes
  end)
  return review.turn ~= nil and not goes and size(review) <= config.options.review.small
end

--- What the panel says under the proposal's diff. It is read from the file too, where these keys are Vim's own.
---@param review llamagent.Review
---@return string
local function hint(review)
  local map = config.options.keys.panel
  local parts = {}
  local small = M.is_small(review)
  if small and map.accept then
    table.insert(parts, map.accept .. ' accept')
  end
  if map.view then
    table.insert(parts, map.view .. ' diff')
  end
  if map.reject then
    table.insert(parts, map.reject .. ' reject')
  end
  local away = ':Llamagent ' .. (small and 'accept' or 'review')
  return 'waits: ' .. table.concat(parts, '  ') .. '  (in this window; elsewhere ' .. away .. ')'
end

--- Bring a review before the person: in the panel where that is enough, else as a diff once the person is free.
---@param review llamagent.Review
function M.present(review)
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
    if not review.over then
      diffview.open(review)
    end
  end, function()
    return not review.over and not diffview.is_open()
  end, function()
    say.info(('an edit of %s waits for your review (:Llamagent review)'):format(what))
  end)
end

return M

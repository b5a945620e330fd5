--- Gathers what streams in and hands it on a few times a second: drawing each piece would freeze the editor.
local M = {}

---@class llamagent.Batch
---@field push fun(item: any)
---@field flush fun() hand on at once what is there
---@field drop fun() forget what is there

--- A batch that calls `consume` with a list of items, at most every `interval` ms.
---@param interval integer
---@param consume fun(items: any[])
---@return llamagent.Batch
function M.new(interval, consume)
  local waiting, scheduled, last = {}, false, 0

  local function flush()
    scheduled = false
    if #waiting == 0 then
      return
    end
    local items = waiting
    waiting, last = {}, vim.uv.now()
    consume(items)
  end

  local function push(item)
    table.insert(waiting, item)
    if not scheduled then
      scheduled = true
      -- After a pause the first piece is shown at once.
      vim.defer_fn(flush, math.max(0, last + interval - vim.uv.now()))
    end
  end

  local function drop()
    waiting = {}
  end

  return { push = push, flush = flush, drop = drop }
end

return M

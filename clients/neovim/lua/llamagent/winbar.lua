--- The lines around the panel: above it model, state, how full the context is, and the keys, as far as they fit.
local M = {}

local api = vim.api
local config = require('llamagent.config')
local conversation = require('llamagent.conversation')
local windows = require('llamagent.windows')

local GAUGE_CELLS = 8
local ROOMY = 48 -- columns from which the gauge has a bar
local SHORT_MODEL = 9 -- characters of a name that is cut
local WARN_AT, ALARM_AT = 0.75, 0.9 -- of the context

---@class llamagent.Piece
---@field text string
---@field group string
---@field short string? for where there is no room for the whole

---@param gauge llamagent.Gauge?
---@param width integer
---@return llamagent.Piece?
local function gauge_piece(gauge, width)
  if not gauge or gauge.numCtx == 0 then
    return nil
  end
  local share = math.min(gauge.tokens / gauge.numCtx, 1)
  local full = math.floor(share * GAUGE_CELLS + 0.5)
  local bar = ('█'):rep(full) .. ('░'):rep(GAUGE_CELLS - full)
  local group = share >= ALARM_AT and 'LlamagentError' or share >= WARN_AT and 'LlamagentWarn' or 'LlamagentOk'
  local percent = ('%d%%'):format(share * 100)
  return { text = width >= ROOMY and bar .. ' ' .. percent or percent, group = group, short = percent }
end

---@param state llamagent.Conversation
---@return llamagent.Piece
local function state_piece(state)
  if state.stopped then
    return { text = 'server stopped', group = 'LlamagentError' }
  elseif not state.running then
    return { text = state.doing, group = 'LlamagentOk' }
  end
  local seconds = math.floor((vim.uv.now() - state.since) / 1000)
  local group = state.doing == 'waiting for you' and 'LlamagentWarn' or 'LlamagentKey'
  return { text = seconds > 1 and ('%s, %d s'):format(state.doing, seconds) or state.doing, group = group }
end

---@param state llamagent.Conversation
---@param paused boolean
---@param width integer
---@return llamagent.Piece[] the most important first
local function pieces(state, paused, width)
  local map = config.options.keys.panel
  local list = { state_piece(state) }
  table.insert(list, gauge_piece(state.gauge, width))
  if paused then
    table.insert(list, { text = 'G follows', group = 'LlamagentWarn' })
  end
  if #state.queue > 0 then
    table.insert(list, { text = ('%d queued'):format(#state.queue), group = 'LlamagentWarn' })
  end
  if state.model then
    local short = vim.fn.strcharpart(state.model, 0, SHORT_MODEL) .. '…'
    table.insert(list, 1, { text = state.model, group = 'LlamagentModel', short = short })
  end
  local keys = state.running and { map.cancel, 'stop' } or { map.prompt, 'ask' }
  if keys[1] then
    table.insert(list, { text = keys[1] .. ' ' .. keys[2], group = 'LlamagentDim' })
  end
  if map.help then
    table.insert(list, { text = map.help .. ' keys', group = 'LlamagentDim' })
  end
  return list
end

--- The first three are model, state and gauge: shortened, from the end, rather than left out.
---@param list llamagent.Piece[]
---@param width integer
local function fit(list, width)
  local function used()
    return vim.iter(list):take(3):fold(1, function(sum, piece)
      return sum + api.nvim_strwidth(piece.text) + 2
    end)
  end
  for index = math.min(3, #list), 1, -1 do
    local piece = list[index]
    if used() > width and piece.short and api.nvim_strwidth(piece.short) < api.nvim_strwidth(piece.text) then
      piece.text = piece.short
    end
  end
end

--- The winbar's text for this many columns.
---@param client_id integer
---@param width integer
---@param paused boolean whether the panel does not follow
---@return string
function M.text(client_id, width, paused)
  local out, used = {}, 1
  local list = pieces(conversation.of(client_id), paused, width)
  fit(list, width)
  for _, piece in ipairs(list) do
    used = used + vim.api.nvim_strwidth(piece.text) + 2
    if used > width and #out > 0 then
      break
    end
    table.insert(out, ('%%#%s#%s'):format(piece.group, (piece.text:gsub('%%', '%%%%'))))
  end
  return ' ' .. table.concat(out, '  ') .. '%*'
end

--- The winbar of a panel's window, drawn by Neovim.
---@return string
function M.winbar()
  local win = api.nvim_get_current_win() -- while Neovim evaluates it, the window that it is for
  local id = vim.b[api.nvim_win_get_buf(win)].llamagent_client
  return id and M.text(id, api.nvim_win_get_width(win), not windows.at_end(win)) or ''
end

--- The panel's status line: which project it is.
---@return string
function M.title()
  local used = vim.lsp.get_client_by_id(vim.b.llamagent_client or -1)
  local root = used and used.root_dir
  return 'llamagent  ' .. (root and vim.fs.basename(root) or 'no project folder')
end

--- What a closed fold shows.
---@return string
function M.foldtext()
  local line = api.nvim_buf_get_lines(0, vim.v.foldstart - 1, vim.v.foldstart, false)[1] or ''
  return ('+ %d lines  %s'):format(vim.v.foldend - vim.v.foldstart + 1, line)
end

return M

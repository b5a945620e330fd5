--- The server's questions: asked by `vim.ui.select` and `vim.ui.input` when the person is free. No answer means no.
local M = {}

local focus = require('llamagent.focus')
local say = require('llamagent.say')
local visible = require('llamagent.visible')

---@class llamagent.Question
---@field id string
---@field client_id integer
---@field text string
---@field show fun(done: fun(result: any))
---@field answer fun(result: any)
---@field no any the answer for no answer
---@field shown boolean
---@field over boolean

---@type llamagent.Question[]
local open = {}

---@param question llamagent.Question
---@param result any
local function settle(question, result)
  if question.over then
    return
  end
  question.over = true
  open = vim.tbl_filter(function(other)
    return other ~= question
  end, open)
  question.answer(result)
  require('llamagent.panel').hint(question.client_id, question.id, nil)
  say.event('QuestionClosed', { client_id = question.client_id, id = question.id })
end

---@param question llamagent.Question
local function show(question)
  question.shown = true
  question.show(function(result)
    settle(question, result)
  end)
end

---@param question llamagent.Question
local function raise(question)
  table.insert(open, question)
  require('llamagent.panel').hint(question.client_id, question.id, 'waits: ' .. question.text)
  say.event('Question', { client_id = question.client_id, id = question.id, text = question.text })
  focus.when_free(function()
    show(question)
  end, function()
    return not question.over and not question.shown
  end, function()
    say.info('a question waits until you pause: ' .. question.text)
  end)
end

local CHOICES = {
  { title = 'Run', decision = 'run' },
  { title = 'Run with network', decision = 'run', network = true },
  { title = 'Always in this session', decision = 'always' },
  { title = 'Refuse', decision = 'refuse' },
  { title = 'Refuse, and say why', decision = 'refuse', why = true },
  { title = 'Refuse, and end the turn', decision = 'refuse', stop = true },
}

--- What can be answered: network is offered where there would be none.
---@param question llamagent.ConsentQuestion
---@return table[]
local function choices(question)
  local walled = question.sandboxed and not question.network
  return vim.tbl_filter(function(choice)
    return walled or not choice.network
  end, CHOICES)
end

---@param question llamagent.ConsentQuestion
---@return string
local function consent_prompt(question)
  local where = vim.fn.fnamemodify(question.cwd, ':~')
  local limits = question.sandboxed and 'in a sandbox' or 'without a sandbox'
  limits = limits .. (question.network and ', with network' or ', without network')
  local lines = table.concat(visible.command(question.command), '\n  ')
  return ('Run in %s (%s)?\n  %s'):format(visible.line(where), limits, lines)
end

--- Ask whether a command may run.
---@param asked llamagent.ConsentQuestion
---@param client_id integer
---@param answer fun(result: {decision: string, reason?: string, stop?: boolean, network?: boolean})
function M.consent(asked, client_id, answer)
  raise({
    id = asked.call,
    client_id = client_id,
    text = 'run `' .. visible.line(asked.command) .. '`?',
    answer = answer,
    no = { decision = 'refuse' },
    shown = false,
    over = false,
    show = function(done)
      local options = {
        prompt = consent_prompt(asked),
        kind = 'llamagent.consent',
        format_item = function(item)
          return item.title
        end,
      }
      vim.ui.select(choices(asked), options, function(choice)
        choice = choice or { decision = 'refuse' }
        if not choice.why then
          done({ decision = choice.decision, stop = choice.stop, network = choice.network })
          return
        end
        vim.ui.input({ prompt = 'Why not? ' }, function(reason)
          done({ decision = 'refuse', reason = reason ~= '' and reason or nil })
        end)
      end)
    end,
  })
end

--- Ask for free text.
---@param asked {title: string, text: string}
---@param client_id integer
---@param answer fun(result: {text?: string})
function M.input(asked, client_id, answer)
  raise({
    id = 'input:' .. asked.title,
    client_id = client_id,
    text = asked.title,
    answer = answer,
    no = vim.empty_dict(),
    shown = false,
    over = false,
    show = function(done)
      vim.ui.input({ prompt = asked.title .. ' ', default = asked.text }, function(text)
        done(text and { text = text } or vim.empty_dict())
      end)
    end,
  })
end

--- Ask for one of the actions of `window/showMessageRequest`.
---@param asked lsp.ShowMessageRequestParams
---@param client_id integer
---@param answer fun(result: any)
function M.choose(asked, client_id, answer)
  raise({
    id = 'message:' .. asked.message,
    client_id = client_id,
    text = asked.message,
    answer = answer,
    no = vim.NIL,
    shown = false,
    over = false,
    show = function(done)
      local options = {
        prompt = visible.text(asked.message),
        kind = 'llamagent.message',
        format_item = function(action)
          return action.title
        end,
      }
      vim.ui.select(asked.actions or {}, options, function(action)
        done(action or vim.NIL)
      end)
    end,
  })
end

--- Show the oldest question again: a picker may have gone without a word, or the person was not free.
---@return boolean shown
function M.show_next()
  if #open == 0 then
    return false
  end
  show(open[1])
  return true
end

--- The server took a question back.
---@param id string
function M.withdraw(id)
  for _, question in ipairs(vim.list_slice(open)) do
    if question.id == id then
      settle(question, question.no)
    end
  end
end

--- Nobody waits for an answer any more.
---@param client_id integer
function M.server_gone(client_id)
  for _, question in ipairs(vim.list_slice(open)) do
    if question.client_id == client_id then
      settle(question, question.no)
    end
  end
end

--- The questions of a client that wait for an answer.
---@param client_id integer
---@return string[]
function M.waiting(client_id)
  local texts = {}
  for _, question in ipairs(open) do
    if question.client_id == client_id then
      table.insert(texts, question.text)
    end
  end
  return texts
end

return M

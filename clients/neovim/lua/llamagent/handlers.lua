--- What the server sends, method by method: one thin door each, used by our client only.
local client = require('llamagent.client')

--- Let a handler answer later: `open` gets a function that gives the answer, once.
---@param open fun(answer: fun(result: any))
---@return any result what was answered, at last
local function answered_later(open)
  local co = assert(coroutine.running(), 'requests of a server run in a coroutine')
  local done = false
  open(function(result)
    if done then
      return
    end
    done = true
    vim.schedule(function()
      local ok, problem = coroutine.resume(co, result)
      assert(ok, problem)
    end)
  end)
  return coroutine.yield()
end

---@type table<string, lsp.Handler>
return {
  ['workspace/applyEdit'] = function(_, params, ctx)
    return answered_later(function(answer)
      require('llamagent.review').receive(client.plain(params), ctx.client_id, answer)
    end)
  end,

  ['llamagent/trace'] = function(_, event, ctx)
    require('llamagent.conversation').on_event(ctx.client_id, client.plain(event))
  end,

  ['llamagent/queued'] = function(_, params, ctx)
    local queued = client.plain(params)
    require('llamagent.conversation').on_queue(ctx.client_id, queued.session, queued.queue or {})
  end,

  ['$/progress'] = function(problem, params, ctx)
    vim.lsp.handlers['$/progress'](problem, params, ctx)
    require('llamagent.conversation').on_progress(ctx.client_id, params.token, client.plain(params).value)
  end,

  ['llamagent/reviewClosed'] = function(_, params)
    require('llamagent.review').withdraw(params.reviewId)
    require('llamagent.questions').withdraw(params.reviewId)
  end,

  ['llamagent/consent'] = function(_, params, ctx)
    return answered_later(function(answer)
      require('llamagent.questions').consent(client.plain(params), ctx.client_id, answer)
    end)
  end,

  ['llamagent/input'] = function(_, params, ctx)
    return answered_later(function(answer)
      require('llamagent.questions').input(client.plain(params), ctx.client_id, answer)
    end)
  end,

  ['window/showMessageRequest'] = function(_, params, ctx)
    return answered_later(function(answer)
      require('llamagent.questions').choose(client.plain(params), ctx.client_id, answer)
    end)
  end,

  ['llamagent/save'] = function(_, params)
    return { saved = require('llamagent.files').save(params.uris) }
  end,

  ['llamagent/diagnostics'] = function(_, params, ctx)
    local asked = assert(vim.lsp.get_client_by_id(ctx.client_id))
    return answered_later(function(answer)
      require('llamagent.diagnostics').settle(params.uris, asked.offset_encoding, answer)
    end)
  end,
}

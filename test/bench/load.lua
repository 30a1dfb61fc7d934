-- Requests for wrk, the same way for every server. The arguments: a file of whole requests, separated by NUL, one of
-- which is drawn for each request; the seed of the draw; and, where the file holds a single request in which "{name}"
-- stands for a profile's name, how many profiles there are and how a name is made of an id (prefix, factor, range).

local random = math.random

function init(args)
  local file = assert(io.open(args[1], "rb"))
  local text = file:read("*a")
  file:close()
  math.randomseed(tonumber(args[2]))

  if #args == 2 then
    local requests = {}
    for one in text:gmatch("%Z+") do requests[#requests + 1] = one end
    local count = #requests
    request = function() return requests[random(count)] end
  else
    local profiles, prefix, factor, range = tonumber(args[3]), args[4], tonumber(args[5]), tonumber(args[6])
    local head, tail = text:match("^(.-){name}(.*)$")
    head = head .. prefix
    request = function() return head .. random(profiles) * factor % range .. tail end
  end
end

-- wrk looks for it before init has run.
function request() end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"microseconds":%d,"bytes":%d,"broken":%d,"refused":%d,"p50Micros":%d,"p99Micros":%d}\n',
    summary.requests, summary.duration, summary.bytes, errors.connect + errors.read + errors.write + errors.timeout,
    errors.status, latency:percentile(50), latency:percentile(99)))
end

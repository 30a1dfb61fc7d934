-- Requests for wrk. The arguments: a file of whole requests, separated by NUL, one of which is chosen at random for each request;
-- the seed; and, if the file contains a single request in which "{name}" stands for a profile's name, the number of profiles
-- and how a name is made from an id (prefix, factor, range).

local random = math.random

-- A wrk that waits for responses sleeps, and the server has to wake it for each: on a virtual machine, 10 µs or more of the
-- server's time, which it would not spend on a remote client, nor if it were fast enough to keep wrk busy. So wrk polls for responses
-- endlessly: wrk 4 exports its event loop, and a timer that is always due (0 ms) keeps it awake.
local function spin()
  local ffi = require("ffi")
  ffi.cdef [[
    typedef struct { unsigned long id; void *loop; } bench_thread;
    int sched_yield(void);
    long long aeCreateTimeEvent(void *loop, long long ms, int (*act)(void), void *data, void *finalize);
  ]]
  local thread = ffi.cast("bench_thread **", wrk.thread)[0]
  assert(ffi.C.aeCreateTimeEvent(thread.loop, 0, ffi.C.sched_yield, nil, nil) >= 0)
end

function init(args)
  spin()
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

-- wrk needs it before init has run.
function request() end

function done(summary)
  local errors = summary.errors
  io.write(string.format('\n{"requests":%d,"microseconds":%d,"broken":%d,"refused":%d}\n', summary.requests, summary.duration,
    errors.connect + errors.read + errors.write + errors.timeout, errors.status))
end

import type { TypicalAnswer } from '../servers.ts';

// For comparing everything: the runtime alone, which answers every request with one constant response.

const { status, headers: fields, body }: TypicalAnswer = JSON.parse(process.env.ANSWER ?? '');
const headers = new Headers(fields);
const content = body === '' ? null : body;

// With READS: only the work that no server of ours can avoid. It reads the IP address for the log, the URL and two
// headers, and sends another request id and rate limit each time.
const init = { status, headers };
let count = 0;
let read: unknown;
function answerRead(request: Request, from: Bun.Server<undefined>): Response {
  const { url, headers: asked } = request;
  read = [
    from.requestIP(request)?.address,
    url.indexOf('/', 8),
    asked.get('authorization'),
    asked.get('if-none-match'),
  ];
  count++;
  headers.set('X-Request-Id', `abcdefghijkl-${count.toString(36)}`);
  headers.set('RateLimit', `"1s";r=${1_000_000 - (count % 1_000_000)};t=0`);
  return new Response(content, init);
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  development: false,
  idleTimeout: 10,
  fetch: process.env.READS === '1' ? answerRead : () => new Response(content, { status, headers }),
});
process.on('SIGTERM', () => process.exit(read === null ? 1 : 0));
process.stdout.write(`Listening on http://127.0.0.1:${server.port}\n`);

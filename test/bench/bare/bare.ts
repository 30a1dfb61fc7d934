import type { TypicalAnswer } from '../servers.ts';

// The baseline of everything else: the runtime alone, which answers every request with one constant response.

const { status, headers: fields, body }: TypicalAnswer = JSON.parse(process.env.ANSWER ?? '');
const headers = new Headers(fields);
const content = body === '' ? null : body;

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  development: false,
  idleTimeout: 10,
  fetch: () => new Response(content, { status, headers }),
});
process.on('SIGTERM', () => process.exit(0));
process.stdout.write(`Listening on http://127.0.0.1:${server.port}\n`);

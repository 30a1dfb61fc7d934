import { afterAll } from 'bun:test';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A request received by the webhook. `url` is path and query; `isClosed` says whether its connection has been closed.
 */
export type Posted = { method: string; url: string; type: string; body: string; isClosed: boolean };

/**
 * The four kinds of webhook URLs, each with what that chat shows of a body; ntfy fills in a template, as documented.
 */
export const FORMS: Readonly<Record<string, { path: string; shown: (body: Record<string, unknown>) => unknown }>> = {
  Discord: { path: '/api/webhooks/1234/s3cret-token', shown: ({ content }) => content },
  Slack: { path: '/services/T0001/B0002/s3cret-token', shown: ({ text }) => text },
  Mattermost: { path: '/hooks/s3cret-token', shown: ({ text }) => text },
  ntfy: { path: '/s3cret-token?tpl=1&m={{.text}}', shown: ({ text }) => text },
};

/** A webhook on loopback over real HTTP. `answer` answers each request, by default with 204. */
export type Webhook = { url: string; posted: Posted[]; answer: (response: ServerResponse) => unknown };

/** Starts a webhook whose URL ends with this path. It is stopped when the test file is done. */
export async function startWebhook(path = '/hooks/s3cret-token'): Promise<Webhook> {
  const webhook: Webhook = { url: '', posted: [], answer: (response) => response.writeHead(204).end() };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { method = '', url = '', headers } = request;
    const posted = { method, url, type: headers['content-type'] ?? '', body, isClosed: false };
    response.on('close', () => {
      posted.isClosed = true;
    });
    webhook.posted.push(posted);
    webhook.answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  webhook.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  return webhook;
}

/** A response with this status, and these headers. */
export function status(code: number, headers: Record<string, string> = {}): Webhook['answer'] {
  return (response) => response.writeHead(code, headers).end('no');
}

/** A response whose body never ends, sent as fast as it is read. */
export function endless(response: ServerResponse): void {
  response.writeHead(200);
  const part = 'a'.repeat(65_536);
  const push = () => {
    while (response.write(part));
  };
  response.on('drain', push);
  push();
}

import { cleanForTerminal } from '../text.ts';
import type { Delivery } from './send.ts';

/** Statuses after which a message is not sent again. */
const PERMANENT_STATUSES: readonly number[] = [400, 401, 403, 404, 405, 410, 413, 422];

const MAX_LINE_LENGTH = 200;

/**
 * Posts a message to a webhook of Discord, Slack, Mattermost or ntfy. Follows no redirects. The URL is a secret: the
 * sentence contains no part of it. Never rejects.
 */
export async function postToWebhook(url: string, text: string, timeoutMs: number): Promise<Delivery> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ content: text, text, allowed_mentions: { parse: [] } }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const line = response.ok ? '' : await firstLine(response, url);
    await response.body?.cancel().catch(() => undefined);
    if (response.ok) return { outcome: 'accepted' };
    const said = line === '' ? '' : ` ("${line}")`;
    return {
      outcome: 'refused',
      permanent: PERMANENT_STATUSES.includes(response.status),
      about: 'mail',
      reason: `The webhook responded with ${response.status}${said}; check ADMIN_WEBHOOK_URL.`,
    };
  } catch (error) {
    // The error's message contains the URL.
    const { code, name } = error as { code?: unknown; name?: unknown };
    const cause = typeof code === 'string' && /^\w{1,50}$/.test(code) ? ` (${code})` : '';
    const what = name === 'TimeoutError' ? 'did not respond in time' : `can't be reached${cause}`;
    return { outcome: 'unknown', reason: `The webhook ${what}; check ADMIN_WEBHOOK_URL and the network.` };
  }
}

/** The first line of a response's first bytes, without anything that could be a part of the URL. */
async function firstLine(response: Response, url: string): Promise<string> {
  const reader = response.body?.getReader();
  const { value } = (await reader?.read().catch(() => undefined)) ?? {};
  reader?.releaseLock();
  const [line = ''] = new TextDecoder().decode(value?.subarray(0, 1_024)).trim().split('\n');
  let text = cleanForTerminal(line).replaceAll('"', "'");
  for (const part of new URL(url).href.split(/[/?&=#]/)) {
    if (part.length > 3) text = text.replaceAll(part, '[removed]');
  }
  return [...text].slice(0, MAX_LINE_LENGTH).join('');
}

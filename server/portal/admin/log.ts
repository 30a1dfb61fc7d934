import { type Decided, isCursor, listDecided } from '../../../shared/admins/audit-log.ts';
import type { KeyEventName } from '../../../shared/db/key-columns.ts';
import { AppError } from '../../../shared/errors.ts';
import { detailText } from '../../../shared/keys/history-text.ts';
import { type Html, html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { keyLink } from '../html/key-facts.ts';
import { columnTime, WHEN } from '../html/time.ts';
import { written } from '../html/user-text.ts';
import type { Page, Visit } from '../requests/request-context.ts';
import { adminKeyPath } from './admin-path.ts';

/** So many entries stand on one page. */
const PAGE_SIZE = 50;

/** `GET /developers/admin/log`: everything that was decided about keys, admins and platforms, newest first. */
export function log(visit: Visit): Page {
  const { access, query } = visit;
  const before = query.get('before') || null;
  if (before !== null && !isCursor(before)) throw new AppError('bad_parameter', 'before must be taken from a link.');
  const found = listDecided(access.db, PAGE_SIZE + 1, before);
  const shown = found.slice(0, PAGE_SIZE);
  const rows = shown.map(
    (entry) =>
      html`<tr><td data-label="When">${columnTime(entry.atMs)}</td><td data-label="Who">${written(entry.by)}</td><td data-label="What">${whatOf(visit, entry)}</td></tr>`,
  );
  const path = publicPath(access.config, '/developers/admin/log');
  const more =
    found.length > PAGE_SIZE
      ? html`<p><a href="${path}?before=${(shown.at(-1) as Decided).cursor}">What was decided before</a></p>`
      : '';
  return {
    title: 'Log',
    body: html`<h1>Log</h1>
<p>What was decided about keys and about people, the latest first. No entry can be changed or removed. Requests, and what became of their mails, stand in the history of each key.</p>
${rows.length === 0 ? html`<p>Nothing was decided yet.</p>` : html`<table class="stack"><thead><tr><th scope="col">${WHEN}</th><th scope="col">Who</th><th scope="col">What</th></tr></thead><tbody>${rows}</tbody></table>`}
${more}`,
  };
}

function whatOf(visit: Visit, { kind, name, event, detail }: Decided): Html {
  if (kind === 'key') {
    const text = detailText({ detail, event: event as KeyEventName });
    return html`key ${keyLink(name, adminKeyPath(visit))} ${event}${text === '' ? '' : html`: <span class="text">${written(text)}</span>`}`;
  }
  const passkey = detail?.passkey === undefined ? '' : html`: ${written(detail.passkey)}`;
  const ended = detail?.endedPasskeys ? `; passkeys ended: ${detail.endedPasskeys}` : '';
  const rights = detail?.rights === undefined ? '' : `, with the rights ${detail.rights.join(' and ')}`;
  const token = detail?.token === undefined ? '' : `: token ${detail.token}${rights}`;
  return html`${kind} ${written(name)} ${event}${passkey}${token}${ended}`;
}

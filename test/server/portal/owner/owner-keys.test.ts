import { describe, expect, test } from 'bun:test';
import { stateInWords } from '../../../../server/portal/owner/key-state.ts';
import { DAY_MS } from '../../../../shared/clock.ts';
import type { AttemptResult } from '../../../../shared/db/key-columns.ts';
import { changeKey } from '../../../../shared/keys/life/change.ts';
import { openLimits } from '../../../../shared/limits/one-thread.ts';
import { curlLine } from '../../../../shared/mail/texts/mail-wording.ts';
import { OPERATIONS, perform } from '../../../../shared/operations.ts';
import { onBox } from '../../../support/actors.ts';
import { eraseProfile } from '../../../support/erase.ts';
import { importLines } from '../../../support/import.ts';
import { approveKey, DESCRIPTION, issue, keyIn, keysListed, request } from '../../../support/keys.ts';
import { startSmtp } from '../../../support/mail/smtp.ts';
import { ADA, BEA, type OwnerWorld, ownerWorld, useKey } from '../../../support/portal/owner-pages.ts';
import { type Sent, sentAgain, signInOwner, unescaped, valuesOf, visit } from '../../../support/portal/pages.ts';

// What owners see of their keys and do with them, in one thread and with a stopped clock.

const FORM = {
  name: 'Badge bot',
  description: DESCRIPTION,
  permissions: 'api.lookup',
  projectUrl: 'https://example.org/badges',
  expectedUsage: 'A few a minute',
  successorOf: '',
};

/** The response to Ada for one of her pages, or for a form that she sends there. */
const at = (world: OwnerWorld, path: string, form?: Sent['form']) =>
  visit(world, `/developers/keys${path}`, { cookie: world.cookie, ...(form && { form }) });

/** The id of the form on a page, which the form sends along. */
function formIdOf({ body }: { body: string }): string {
  return /name="formId" value="([\w-]{43})"/.exec(body)?.[1] as string;
}

/** The text of a page, without markup. */
const textOf = (body: string) =>
  body
    .slice(body.indexOf('<main'))
    .replace(/<script[\s\S]*?<\/script>/g, '')
    .replace(/<\/?(bdi|code|span|time)\b[^>]*>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');

describe('a request', () => {
  test('is stored as typed, and leads to its page, which says what happens next', async () => {
    const world = await ownerWorld();
    const sent = await at(world, '/new', [...Object.entries(FORM), ['permissions', 'api.leaderboard']]);
    const [key] = await keysListed(world.access, {});
    const { name, description, projectUrl, expectedUsage } = FORM;
    expect(key).toMatchObject({ profile: 'ada', state: 'pending', name, description, projectUrl, expectedUsage });
    expect(key?.requestedPermissions).toEqual(['api.lookup', 'api.leaderboard']);
    const path = `/developers/keys/${key?.identifier}`;
    expect([sent.status, valuesOf(sent, 'location')]).toEqual([303, [path]]);
    const page = await visit(world, path, { cookie: `flash=key-requested; ${world.cookie}` });
    const text = textOf(page.body);
    for (const part of ['Request sent.', 'Waiting for an admin.', ...Object.values(FORM)]) {
      expect(text).toContain(part);
    }
    expect(text).toContain('you Requested');
    expect(textOf((await at(world, '')).body)).toContain('1 of 3 keys used');
  });

  test('that breaks rules comes back with everything that was typed, and with each rule at its field', async () => {
    const world = await ownerWorld();
    const typed = {
      ...FORM,
      name: '\n',
      description: `  ${'😀'.repeat(79)}  \n`,
      projectUrl: 'ftp://example.org/"x"',
      expectedUsage: `<b>${'ä'.repeat(1_001)}`,
    };
    const { permissions: _, ...withoutPermission } = typed;
    const answer = await at(world, '/new', withoutPermission);
    expect([answer.status, answer.refusal]).toEqual([422, 'refused_form']);
    const summary = answer.body.slice(answer.body.indexOf('role="alert"'), answer.body.indexOf('<h1>'));
    expect([...summary.matchAll(/<a href="#(\w+)">([^<]*)/g)].map(([, field, sentence]) => [field, sentence])).toEqual([
      ['name', 'Enter a name.'],
      ['description', 'Describe it in 1 more character: what it does, who it is for, and what it stores.'],
      ['permissions', 'Select at least one permission: api.lookup, api.leaderboard, or both.'],
      ['projectUrl', 'The project URL must be an http or https URL of at most 2\u202f048 characters.'],
      ['expectedUsage', 'The expected usage must have at most 1\u202f000 characters; it has 1\u202f004.'],
    ]);
    for (const field of ['name', 'description', 'permissions', 'projectUrl', 'expectedUsage']) {
      expect(answer.body).toContain(`id="${field}-fault"`);
      expect(answer.body).toMatch(new RegExp(` id="${field}"`));
    }
    // Browsers drop the first line feed of a textarea, so one precedes the text.
    expect(answer.body).toContain(`>\n${typed.description}</textarea>`);
    expect(answer.body).toContain('value="ftp://example.org/&quot;x&quot;"');
    expect(answer.body).toContain('&lt;b&gt;ää');
    expect(answer.body.slice(answer.body.indexOf('<main'))).not.toContain('checked');
    expect(await keysListed(world.access, {})).toEqual([]);
  });

  test('can have the longest texts, counted in code points', async () => {
    const world = await ownerWorld();
    const longest = {
      ...FORM,
      name: '😀'.repeat(255),
      description: `${'字'.repeat(1_999)}😀`,
      projectUrl: `https://example.org/${'ä'.repeat(2_028)}`,
      expectedUsage: '😀'.repeat(1_000),
    };
    expect((await at(world, '/new', longest)).status).toBe(303);
    const { successorOf: _, permissions: __, ...stored } = longest;
    expect((await keysListed(world.access, {}))[0]).toMatchObject(stored);
  });

  test('is refused if three keys are in use: pages have no link to the form, and link to these keys instead', async () => {
    const world = await ownerWorld();
    const { identifier: active } = await issue(world.access, { profile: 'ada', name: 'Bot 0' });
    const rejected = await keyIn('rejected', { ...world.access, clock: world.clock }, 'ada');
    const pending = await request(world.access, { profile: 'ada', name: 'Bot 1' });
    expect((await at(world, `/${active}`)).body).toContain(`href="/developers/keys/new?successor-of=${active}"`);
    expect((await at(world, `/${rejected}`)).body).toContain(`href="/developers/keys/new?like=${rejected}"`);
    const last = await request(world.access, { profile: 'ada', name: 'Bot 2' });
    const list = await at(world, '');
    expect(textOf(list.body)).toContain(
      '3 of 3 keys used, requests included. Revoke or withdraw one to request another.',
    );
    const paths = ['/new', `/new?successor-of=${active}`, `/${active}`, `/${rejected}`];
    const pages = await Promise.all(paths.map((path) => at(world, path)));
    for (const [index, page] of pages.entries()) {
      expect([paths[index], page.status]).toEqual([paths[index] as string, 200]);
      for (const [identifier, name] of [active, pending, last].map((one, n) => [one, `Bot ${n}`])) {
        const link = `<a href="/developers/keys/${identifier}"><bdi>${name}</bdi></a>`;
        expect([name, page.body.includes(link)]).toEqual([name, paths[index] !== `/${identifier}`]);
      }
    }
    for (const page of [list, ...pages]) expect(page.body).not.toContain('/developers/keys/new?');
    const ofActive = textOf(pages[2]?.body ?? '');
    expect(ofActive).toContain(
      'Replace this key All 3 keys are in use, requests included. End one first: Bot 1 (pending)',
    );
    expect(ofActive).toContain('Bot 0 (Active): this key');
    // The usual links to replace a key lead to what has to be done first.
    for (const link of ['<li><a href="#replace">Replace…</a>', 'Lost it? <a href="#replace">'])
      expect(pages[2]?.body).toContain(link);
    expect(pages[2]?.body).toContain('<section id="replace">');
    const refused = await at(world, '/new', FORM);
    expect(textOf(refused.body)).toContain('The profile ada has 3 keys already');
    expect([refused.status, refused.body.includes(`>\n${DESCRIPTION}</textarea>`)]).toEqual([422, true]);
    expect(list.body).not.toContain('href="/developers/keys/new"');
  });

  test('is refused after five a day, with what was typed and the time to try again', async () => {
    const world = await ownerWorld();
    world.clock.advance(DAY_MS / 2);
    for (let n = 0; n < 5; n++) {
      const [path = ''] = valuesOf(await at(world, '/new', FORM), 'location');
      await visit(world, `${path}/withdraw`, { form: {}, cookie: world.cookie });
    }
    const answer = await at(world, '/new', FORM);
    expect([answer.status, answer.refusal, valuesOf(answer, 'retry-after')]).toEqual([
      429,
      'too_many_requests',
      ['43200'],
    ]);
    expect(answer.body).toContain(`>\n${DESCRIPTION}</textarea>`);
  });

  test('that is sent repeatedly from one form is one request with one outcome, even if it takes the last slot', async () => {
    const world = await ownerWorld({ ADMIN_EMAIL: 'root@example.net' });
    for (let n = 0; n < 2; n++) await request(world.access, { profile: 'ada', name: `Bot ${n}` });
    const formId = formIdOf(await at(world, '/new'));
    const notices = () => world.access.db.$client.query('SELECT count(*) AS count FROM mails').get();
    const before = notices();
    const first = await at(world, '/new', { ...FORM, formId });
    const [afterOne, [path]] = [notices(), valuesOf(first, 'location')];
    const [asked] = (await keysListed(world.access, { states: ['pending'] })).slice(-1);
    expect([first.status, path]).toEqual([303, `/developers/keys/${asked?.identifier}`]);
    const again = await Promise.all([1, 2, 3].map(() => at(world, '/new', { ...FORM, formId })));
    for (const answer of again) {
      expect([answer.status, answer.refusal, valuesOf(answer, 'location')]).toEqual([303, null, [path as string]]);
      expect(valuesOf(answer, 'set-cookie')).toEqual(valuesOf(first, 'set-cookie'));
    }
    expect(await keysListed(world.access, {})).toHaveLength(3);
    expect(notices()).toEqual(afterOne);
    expect(afterOne).not.toEqual(before);
  });

  test('from another form, by another owner or with other text is a separate request', async () => {
    const world = await ownerWorld();
    const formId = formIdOf(await at(world, '/new'));
    expect(formIdOf(await at(world, '/new'))).not.toBe(formId);
    const bea = signInOwner(world.access, BEA.id);
    const sent = [
      await at(world, '/new', { ...FORM, formId }),
      await at(world, '/new', { ...FORM, formId, name: 'Another bot' }),
      await visit(world, '/developers/keys/new', { cookie: bea, form: { ...FORM, formId } }),
    ];
    expect(new Set(sent.flatMap((answer) => valuesOf(answer, 'location'))).size).toBe(3);
    // A refused form keeps its id.
    expect(formIdOf(await at(world, '/new', { ...FORM, formId, name: '' }))).toBe(formId);
    // Erasing the profile removes the hashes of its forms.
    eraseProfile(world.access, 'ada', onBox('root'));
    const left = world.access.db.$client.query('SELECT profile_id FROM api_keys WHERE form_hash IS NOT NULL').values();
    expect(left).toEqual([[BEA.id]]);
  });

  test('that was refused because the owner is signed out can be sent again from the same form, whose id is not listed', async () => {
    const world = await ownerWorld();
    const formId = formIdOf(await at(world, '/new'));
    const answer = await visit(world, '/developers/keys/new', { form: { ...FORM, formId } });
    expect([answer.status, answer.refusal]).toEqual([403, 'signed_out']);
    expect(Object.fromEntries(sentAgain(answer.body))).toEqual({ ...FORM, formId });
    expect(answer.body).toContain('href="/developers/sign-in" target="_blank">Sign in (in a new tab)</a>');
    expect(answer.body.slice(answer.body.indexOf('<dl'))).not.toContain(formId);
    const sent = Object.fromEntries(sentAgain(answer.body));
    const paths = [await at(world, '/new', sent), await at(world, '/new', sent)];
    expect(new Set(paths.flatMap((one) => valuesOf(one, 'location'))).size).toBe(1);
  });

  test('for a successor is filled in from the old key, and is refused once that is revoked', async () => {
    const world = await ownerWorld();
    const { identifier } = await issue(world.access, { profile: 'ada', name: 'Old', expectedUsage: 'Much' });
    const page = await at(world, `/new?successor-of=${identifier}`);
    for (const part of ['value="Old"', `>\n${DESCRIPTION}</textarea>`, '>\nMuch</textarea>', `value="${identifier}"`]) {
      expect(page.body).toContain(part);
    }
    const [path] = valuesOf(await at(world, '/new', { ...FORM, successorOf: identifier }), 'location');
    expect((await visit(world, path as string, { cookie: world.cookie })).body).toContain(
      `href="/developers/keys/${identifier}"`,
    );
    expect((await keysListed(world.access, { states: ['pending'] }))[0]?.successorOf).toBe(identifier);
    await visit(world, `/developers/keys/${identifier}/revoke`, { form: { reason: '' }, cookie: world.cookie });
    const late = [
      await at(world, `/new?successor-of=${identifier}`),
      await at(world, '/new', { ...FORM, successorOf: identifier }),
    ];
    for (const answer of late)
      expect([answer.status, textOf(answer.body).includes('only an Active key can be replaced')]).toEqual([422, true]);
  });
});

describe('a request like an ended key', () => {
  test('is filled in from that key, and replaces none', async () => {
    const world = await ownerWorld();
    const deps = { ...world.access, clock: world.clock };
    for (const state of ['rejected', 'withdrawn', 'revoked', 'expired'] as const) {
      const identifier = await keyIn(state, deps, 'ada');
      expect((await at(world, `/${identifier}`)).body).toContain(
        `<a href="/developers/keys/new?like=${identifier}">Request again</a>`,
      );
      const { body } = await at(world, `/new?like=${identifier}`);
      for (const part of ['value="Bot"', `>\n${DESCRIPTION}</textarea>`, 'name="successorOf" value=""']) {
        expect([state, body.includes(part)]).toEqual([state, true]);
      }
    }
  });

  test('repeats the reason for which that was rejected or revoked', async () => {
    const world = await ownerWorld();
    const reasonOn = async (state: 'rejected' | 'revoked' | 'withdrawn') => {
      const identifier = await keyIn(state, { ...world.access, clock: world.clock }, 'ada');
      const { body } = await at(world, `/new?like=${identifier}`);
      return /“ Bot ” was (.*?) Name of the key Only you/.exec(textOf(body))?.[1];
    };
    expect(await reasonOn('rejected')).toBe('rejected 2026-01-01 00:00 UTC by the operator. The reason: No.');
    expect(await reasonOn('revoked')).toBe('revoked 2026-01-01 00:00 UTC by the operator. The reason: Leaked.');
    expect(await reasonOn('withdrawn')).toBeUndefined();
  });

  test('is refused if the key has not ended', async () => {
    const world = await ownerWorld();
    const identifier = await request(world.access, { profile: 'ada' });
    const answer = await at(world, `/new?like=${identifier}`);
    expect([answer.status, textOf(answer.body).includes('only an ended one can be requested again')]).toEqual([
      422,
      true,
    ]);
  });
});

test('an owner without keys reads what a key is for, and what happens next', async () => {
  const world = await ownerWorld();
  const empty = await at(world, '');
  expect(textOf(empty.body)).toContain('No keys yet. A key lets your program look up profiles');
  expect(empty.body).toContain('<a class="button" href="/developers/keys/new">Request a key</a>');
  expect(textOf((await at(world, '/new')).body)).toContain(
    'An admin reads this and answers by e-mail. 0 of 3 keys used.',
  );
});

test('a pending key says how many requests are ahead of it', async () => {
  const world = await ownerWorld();
  await request(world.access, { profile: 'bea' });
  world.clock.advance(3_600_000);
  const identifier = await request(world.access, { profile: 'ada' });
  world.clock.advance(3_600_000);
  const words = 'requested 1 hour ago · 1 request ahead of it';
  for (const path of ['', `/${identifier}`]) {
    expect(textOf((await at(world, path)).body)).toContain(words);
  }
});

test('an Active key shows what the quota file says is left of each limit, and when it refills', async () => {
  const world = await ownerWorld();
  const { access, clock } = world;
  const rateLimits = [
    { quota: 60, windowSeconds: 60 },
    { quota: 5_000, windowSeconds: 86_400 },
  ];
  const { identifier } = await issue(access, { profile: 'ada' }, { rateLimits });
  // No server has counted yet, so only the limits are known.
  expect(textOf((await at(world, `/${identifier}`)).body)).toContain('What is left now 60 per minute 5 000 per day');
  const limits = openLimits(access.config.databasePath, clock, () => undefined);
  expect(limits.spend(limits.accountOf({ identifier, rateLimits }), 60)).toBeNull();
  await limits.save();
  for (const words of ['1 minute', '60 s', '60 s', '59 s']) {
    expect(textOf((await at(world, `/${identifier}`)).body)).toContain(`requests get 429 · full again in ${words} 4`);
    clock.advance(500);
  }
  clock.advance(17_000);
  const text = textOf((await at(world, `/${identifier}`)).body);
  expect(text).toContain('0 left of 60 per minute requests get 429 · full again in 42 s');
  expect(text).toContain('4 940 left of 5 000 per day full again in 23 hours');
  expect(textOf((await at(world, '')).body)).toContain(
    '0 left of 60 per minute, so requests get 429 · last used just now · ',
  );
  limits.close();
});

test('requests that got 429 are shown until the end of the next day, even after the limit has refilled', async () => {
  const world = await ownerWorld();
  const { access, clock } = world;
  const rateLimits = [
    { quota: 60, windowSeconds: 60 },
    { quota: 5_000, windowSeconds: 86_400 },
  ];
  const { identifier } = await issue(access, { profile: 'ada' }, { rateLimits });
  const limits = openLimits(access.config.databasePath, clock, () => undefined);
  const use = async (count: number) => {
    expect(limits.spend(limits.accountOf({ identifier, rateLimits }), count)).toBeNull();
    await limits.save();
  };
  const textAt = async (path: string) => textOf((await at(world, path)).body);
  await use(50);
  clock.advance(61_000);
  await use(50);
  useKey(access, identifier, 1, 1_440);
  clock.advance(120_000);
  // Neither minute was used up, so which limit was exceeded is unknown here.
  expect(await textAt('')).toContain('Active 720 requests got 429 today · 4 900 left of 5 000 per day · last used');
  expect(await textAt(`/${identifier}`)).toContain(
    '720 of 2 163 requests got 429 today, over a rate limit, which each response names. After a 429, wait for the number of seconds in',
  );
  await use(60);
  clock.advance(3_600_000);
  expect(await textAt('')).toContain('720 requests got 429 today, over 60 per minute · 4 840 left');
  expect(await textAt(`/${identifier}`)).toContain(
    '720 of 2 163 requests got 429 today, over 60 per minute. After a 429',
  );
  expect(await textAt(`/${identifier}`)).toContain('60 left of 60 per minute unused');
  const tomorrow = () => {
    clock.advance(DAY_MS);
    world.cookie = signInOwner(access, ADA.id);
  };
  tomorrow();
  expect(await textAt('')).toContain('720 requests got 429 yesterday · 5 000 left');
  tomorrow();
  for (const path of ['', `/${identifier}`]) expect(await textAt(path)).not.toContain('429');
  limits.close();
});

test('a key that can’t be used has no limits to watch and nothing to try, and one that ended has no expiry', async () => {
  const world = await ownerWorld();
  const { access, clock } = world;
  const parts = async (identifier: string) => {
    const text = textOf((await at(world, `/${identifier}`)).body);
    return ['What is left now', 'Use it', 'Expires never', 'Expired 2026'].filter((part) => text.includes(part));
  };
  const deps = { ...access, clock };
  const active = await keyIn('Active', deps, 'ada');
  expect(await parts(active)).toEqual(['What is left now', 'Use it', 'Expires never']);
  const { body } = await at(world, `/${active}`);
  const { publicUrl } = access.config;
  expect(body).toContain(`<code data-copy="the base URL">${publicUrl}/api</code>`);
  const line = unescaped(/<code data-copy="the line">([^<]+)<\/code>/.exec(body)?.[1] as string);
  expect(line).toBe(curlLine(publicUrl));
  expect(await parts(await keyIn('suspended', deps, 'ada'))).toEqual(['Expires never']);
  expect(await parts(await keyIn('revoked', deps, 'ada'))).toEqual([]);
  expect(await parts(await keyIn('expired', deps, 'ada'))).toEqual(['Expired 2026']);
  await importLines(access, [{ ...ADA, banned: true }]);
  expect(await parts(active)).toEqual(['Expires never']);
});

test('a key’s page names the key that was requested to replace it, while that is pending and once it is Active', async () => {
  const world = await ownerWorld();
  const { identifier } = await issue(world.access, { profile: 'ada', name: 'Old' });
  const successor = await request(world.access, { profile: 'ada', name: 'New', successorOf: identifier });
  const note = async () => textOf((await at(world, `/${identifier}`)).body);
  expect((await at(world, `/${identifier}`)).body).toContain(
    `<a href="/developers/keys/${successor}"><bdi>New</bdi></a>`,
  );
  expect(await note()).toMatch(/New \(pending\) was requested to replace this key\./);
  await approveKey(world.access, { identifier: successor, grant: {}, by: onBox('root') });
  expect(await note()).toMatch(/New \(Active\) was requested to replace this key\./);
  await at(world, `/${successor}/revoke`, { reason: '' });
  expect(await note()).not.toContain('to replace this key');
});

test('ended keys are unfolded if there are no other keys', async () => {
  const world = await ownerWorld();
  await keyIn('rejected', { ...world.access, clock: world.clock }, 'ada');
  expect((await at(world, '')).body).toContain('<details open><summary>1 ended key</summary>');
  await request(world.access, { profile: 'ada' });
  expect((await at(world, '')).body).toContain('<details><summary>1 ended key</summary>');
});

describe('a key’s page says in words', () => {
  test('its state, how it ended, by whom and why', async () => {
    const world = await ownerWorld();
    const { access, clock } = world;
    const deps = { ...access, clock };
    const words = {
      pending: 'Waiting for an admin. You get an e-mail either way',
      suspended:
        'Suspended 2026-01-01 00:00 UTC by the operator: its requests are refused. If an admin resumes it, the same secret works again. It still counts as one of your keys. The reason: Too fast.',
      Active: 'The secret is only in the e-mail of 2026-01-01 00:00 UTC. Lost it? Replace this key .',
      rejected: 'Rejected 2026-01-01 00:00 UTC by the operator. It no longer counts towards the limit. The reason: No.',
      withdrawn: 'Withdrawn 2026-01-01 00:00 UTC by the operator. It no longer counts towards the limit.',
      revoked: 'Revoked 2026-01-01 00:00 UTC by the operator. Its secret no longer works. The reason: Leaked.',
      expired: 'Expired 2026-01-01 00:00 UTC. Its secret no longer works',
    } as const;
    for (const [state, sentence] of Object.entries(words)) {
      const identifier = await keyIn(state as keyof typeof words, deps, 'ada');
      const text = textOf((await at(world, `/${identifier}`)).body);
      expect([state, text.includes(` ${state} `), text.includes(sentence)]).toEqual([state, true, true]);
      if (state === 'pending') await at(world, `/${identifier}/withdraw`, {});
      expect([state, text.includes('Replace')]).toEqual([state, state === 'Active']);
      if (state === 'Active' || state === 'suspended') await at(world, `/${identifier}/revoke`, { reason: '' });
    }
    expect(textOf((await at(world, '')).body)).toContain('0 of 3 keys used');
  });

  test('whether the e-mail of an approval is on its way, was refused or is not confirmed, without the mail server’s words', async () => {
    const smtp = await startSmtp();
    const world = await ownerWorld({ MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.org' });
    const approve = (identifier: string) =>
      approveKey(world.access, { identifier, grant: {}, by: onBox('root') }).catch(() => undefined);
    const identifier = await request(world.access, { profile: 'ada' });
    smtp.failures.rcpt = '550 5.1.1 mailbox-word unknown';
    await approve(identifier);
    const page = await at(world, `/${identifier}`);
    expect(textOf(page.body)).toContain('the e-mail with the secret was refused');
    expect(page.body).not.toMatch(/mailbox-word|550/);
    const { key, history } = await perform(world.access, onBox('root'), OPERATIONS.show, { identifier });
    const words = (result: AttemptResult) =>
      stateInWords({ ...key, attempt: { number: 2, by: 'root', startedAt: key.requestedAt, result } }, history, null)
        .html;
    expect(words('open')).toContain('the e-mail with the secret is on its way to you');
    expect(words('not confirmed')).toContain('If you got it, its secret does not work');
    expect(words('voided')).toContain('Waiting for an admin.');
  });

  test('what was granted and changed, and its usage as a chart and a table', async () => {
    const world = await ownerWorld();
    const { access, clock } = world;
    const { identifier } = await issue(access, { profile: 'ada' }, { expiresAtMs: clock.nowMs() + 90 * DAY_MS });
    expect(textOf((await at(world, `/${identifier}`)).body)).toContain('No requests in the last 30 days.');
    await changeKey(access, {
      identifier,
      change: { rateLimits: [{ quota: 7, windowSeconds: 60 }] },
      by: onBox('root'),
    });
    useKey(access, identifier, 3, 100);
    const { body } = await at(world, `/${identifier}`);
    const text = textOf(body);
    expect(text).toContain('It expires 2026-04-01 00:00 UTC; replace it before then');
    expect(text).toContain('last used just now · ends in 3 months');
    expect(text).toContain('7/1m (at most 7 requests in any minute)');
    expect(text).toContain('the operator Changed: 60/1m, 5000/1d → 7/1m');
    // 100 + 50 + 33 answered, half of each over a limit, and 3 a day not found.
    expect(text).toContain('284 requests · 68% answered · 92 over a limit');
    expect(text).toContain('3 Dec today so far answered refused busiest day 153');
    expect(text).toContain('200 100 0 ');
    expect(body.match(/<rect class="ok"/g)).toHaveLength(3);
    const rows = [...body.matchAll(/<th scope="row">(\d[\d-]+)<\/th>(.*?)<\/tr>/g)];
    expect(
      rows.map(([, day, cells = '']) => [day, ...[...cells.matchAll(/>(\d+)</g)].map(([, count]) => count)]),
    ).toEqual([
      ['2026-01-01', '100', '3', '50'],
      ['2025-12-31', '50', '3', '25'],
      ['2025-12-30', '33', '3', '17'],
    ]);
    expect(textOf((await at(world, '')).body)).toContain(
      'Bot Active 50 requests got 429 today · 7 per minute · last used just now · ends in 3 months',
    );
  });
});

test('a refused name or reason comes back as typed, and a key that has already ended is refused', async () => {
  const world = await ownerWorld();
  const { identifier } = await issue(world.access, { profile: 'ada' });
  const name = 'x'.repeat(256);
  const unnamed = await at(world, `/${identifier}/rename`, { name });
  expect([unnamed.status, unnamed.body.includes(`value="${name}"`), unnamed.body.includes('href="#name"')]).toEqual([
    422,
    true,
    true,
  ]);
  const reason = `bell \u0007 ${'y'.repeat(2_000)}`;
  const unreasoned = await at(world, `/${identifier}/revoke`, { reason });
  expect([unreasoned.status, unreasoned.body.includes(`>\n${reason}</textarea>`)]).toEqual([422, true]);
  expect((await keysListed(world.access, {}))[0]?.state).toBe('Active');
  await at(world, `/${identifier}/revoke`, { reason: '' });
  const again = [
    await at(world, `/${identifier}/revoke`, { reason: '' }),
    await at(world, `/${identifier}/revoke`),
    await at(world, `/${identifier}/withdraw`),
    await at(world, `/${identifier}/withdraw`, {}),
  ];
  for (const answer of again) {
    expect([answer.status, answer.body.includes(`Key ${identifier} is revoked; only`)]).toEqual([422, true]);
  }
});

test('a key named like a time or a number is shown by that name, in its history too', async () => {
  const world = await ownerWorld();
  const identifier = await request(world.access, { profile: ADA.username });
  for (const name of ['9999-99-99T99:99:99.999Z', '1234 bots', 'Badge bot']) {
    expect((await at(world, `/${identifier}/rename`, { name })).status).toBe(303);
    expect((await at(world, `/${identifier}`)).status).toBe(200);
  }
  const history = textOf((await at(world, `/${identifier}`)).body);
  expect(history).toContain('9999-99-99T99:99:99.999Z');
  expect(history).toContain('1234 bots');
});

import { expect, test } from 'bun:test';
import { prepareUnanswered } from '../../../server/portal/unanswered.ts';
import { AppError } from '../../../shared/errors.ts';
import { SAME_ORIGIN, sentAgain } from '../../support/portal/pages.ts';
import { testConfig } from '../../support/world.ts';

const refuse = prepareUnanswered(testConfig(), () => {});
const SENTENCE = 'Too many pages are being requested; try again.';

async function crowd(path: string, init: RequestInit = {}) {
  const response = await refuse(new Request(`http://portal${path}`, init), new AppError('too_many_pages'));
  expect([response.status, response.headers.get('x-error-code')]).toEqual([503, 'too_many_pages']);
  expect(response.headers.get('retry-after')).toBe('1');
  return { headers: [...response.headers], text: await response.text() };
}

test('if too many requests are in flight, pages get a constant error page, forms get back what was typed, and programs get JSON', async () => {
  const first = await crowd('/developers');
  expect(first.text).toContain(`<p>${SENTENCE}</p>`);
  expect(await crowd('/developers/keys?a=b')).toEqual(first);
  const headers = { ...SAME_ORIGIN, 'x-client-address': '192.0.2.7' };
  const form = await crowd('/developers/sign-in', { method: 'POST', headers, body: 'name=ada&address=a' });
  expect(form.text).toContain(SENTENCE);
  expect(sentAgain(form.text)).toEqual([
    ['name', 'ada'],
    ['address', 'a'],
  ]);
  const signOut = await crowd('/developers/sign-out', { method: 'POST', headers });
  expect(signOut.headers).toContainEqual(['set-cookie', expect.stringContaining('session=; ')]);
  expect(signOut.text).toContain('This browser is signed out anyway');
  const call = await crowd('/manage/v1/me', { headers: { authorization: 'Bearer x' } });
  expect(JSON.parse(call.text)).toEqual({ error: SENTENCE });
});

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { allValues, oneValue, readForm, readQuery } from '../../../../server/portal/requests/form.ts';
import { MAX_FORM_BYTES } from '../../../../server/thread/forwarded.ts';
import { getRaw, sendRaw, takeApart } from '../../../support/http.ts';
import { ANY_CHARACTER } from '../../../support/input-values.ts';
import { fetchPage, pageWorld, SAME_ORIGIN, serverOfPages } from '../../../support/portal/pages.ts';
import { refusal } from '../../../support/refusal.ts';

const server = await serverOfPages(pageWorld());
const PATH = '/developers/sign-out';

/** Status and code of the response to a body, which is always a page or a redirect. */
async function post(
  body: string | Uint8Array<ArrayBuffer> | ReadableStream,
  type?: string,
): Promise<[number, string | null]> {
  const headers = type === undefined ? {} : { 'content-type': type };
  const answer = await fetchPage(server, PATH, { method: 'POST', body, headers });
  expect([answer.status === 303, (await answer.text()).includes('<h1>')]).toContain(true);
  return [answer.status, answer.headers.get('x-error-code')];
}

describe('a form', () => {
  test('may have 64 KiB, and one byte more is refused, with or without a Content-Length', async () => {
    const most = `a=${'x'.repeat(MAX_FORM_BYTES - 2)}`;
    expect(await post(most)).toEqual([400, 'bad_form']);
    for (const body of [`${most}x`, `${most}${'x'.repeat(900_000)}`]) {
      expect(await post(body)).toEqual([413, 'form_too_long']);
      expect(await post(new Blob([body]).stream())).toEqual([413, 'form_too_long']);
    }
    expect(await post(new Blob([most]).stream())).toEqual([400, 'bad_form']);
  });

  test('of another media type is refused', async () => {
    for (const type of [
      'application/json',
      'multipart/form-data; boundary=x',
      'text/plain',
      'application/x-www-form-urlencoded; charset=latin1',
    ]) {
      expect(await post('a=1', type)).toEqual([415, 'not_a_form']);
    }
    for (const type of ['application/x-www-form-urlencoded; charset=UTF-8', 'Application/X-WWW-Form-URLencoded']) {
      expect(await post('', type)).toEqual([303, null]);
    }
    const none = await getRaw(server, PATH, ['Sec-Fetch-Site: same-origin', 'Content-Length: 0'], 'POST').catch(
      (error) => error.message,
    );
    expect(JSON.stringify(none)).toContain('415');
  });

  test('must be percent-encoded UTF-8 with known fields, each once', async () => {
    for (const body of [
      'a=%',
      'a=%4',
      'a=%zz',
      '%ff=1',
      'a=%c0%af',
      'a=%ed%a0%80',
      'unknown=1',
      '__proto__=1',
      'a=1&a=2',
    ]) {
      expect(await post(body)).toEqual([400, 'bad_form']);
    }
    expect(await post(new Uint8Array([0x61, 0x3d, 0xff]))).toEqual([400, 'bad_form']);
  });

  test('with a malformed chunk is refused', async () => {
    const lines = Object.entries(SAME_ORIGIN).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `POST ${PATH} HTTP/1.1\r\nHost: a\r\n${lines.join('')}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const answer = takeApart(await sendRaw(server, Buffer.from(`${head}3\r\na=1\r\nzz\r\n`)));
    expect([0, 400]).toContain(answer.status);
  });
});

test('a form is read exactly as sent, without trimming', () => {
  const texts = fc.array(fc.tuple(fc.constantFrom('one', 'many'), fc.string({ unit: ANY_CHARACTER })), {
    maxLength: 6,
  });
  fc.assert(
    fc.property(texts, (pairs) => {
      const seen = pairs.filter(
        ([name], at) => name === 'many' || pairs.findIndex(([other]) => other === 'one') === at,
      );
      const form = readForm(new URLSearchParams(seen).toString(), { one: 'one', many: 'many' });
      const typed = (wanted: string) => seen.filter(([name]) => name === wanted).map(([, text]) => text);
      expect(allValues(form, 'many')).toEqual(typed('many'));
      expect(oneValue(form, 'one')).toBe(typed('one')[0] ?? '');
    }),
  );
});

test('unknown parameters of a query are ignored; known ones must be percent-encoded, each once', async () => {
  expect([...readQuery('utm_source=mail&state=a%20b&%zz', ['state'])]).toEqual([['state', 'a b']]);
  for (const query of ['state=a&state=a', 'state=%ff', 'state=%']) {
    expect(await refusal(() => readQuery(query, ['state']))).toMatchObject({ code: 'bad_parameter' });
  }
});

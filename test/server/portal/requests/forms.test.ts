import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { MAX_BODY_BYTES } from '../../../../server/http/body.ts';
import { allValues, oneValue, queryValue, readForm } from '../../../../server/portal/requests/form.ts';
import { fetchPage, SAME_ORIGIN, servePages } from '../../../support/pages.ts';
import { ANY_CHARACTER } from '../../../support/rounds.ts';
import { refusal } from '../../../support/world.ts';
import { getRaw, sendRaw, takeApart } from '../../raw.ts';

const { server } = await servePages();
const PATH = '/developers/sign-out';

/** Status and code of the response to a body, which is always a page or a redirect. */
async function post(
  body: string | Uint8Array<ArrayBuffer> | ReadableStream,
  type?: string,
): Promise<[number, string | null]> {
  const headers = type === undefined ? {} : { 'content-type': type };
  const answer = await fetchPage(server, PATH, { method: 'POST', body, headers });
  expect([answer.status === 303, answer.body.includes('<h1>')]).toContain(true);
  return [answer.status, answer.refusal];
}

describe('a form', () => {
  test('may have 64 KiB, and one byte more is refused, with or without a Content-Length', async () => {
    const most = `a=${'x'.repeat(MAX_BODY_BYTES - 2)}`;
    expect(await post(most)).toEqual([303, null]);
    for (const body of [`${most}x`, `${most}${'x'.repeat(900_000)}`]) {
      expect(await post(body)).toEqual([413, 'form_too_long']);
      expect(await post(new Blob([body]).stream())).toEqual([413, 'form_too_long']);
    }
    expect(await post(new Blob([most]).stream())).toEqual([303, null]);
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

  test('must be percent-encoded UTF-8, and a field that is read must not be repeated', async () => {
    for (const body of ['a=%', 'a=%4', 'a=%zz', '%ff=1', 'a=%c0%af', 'a=%ed%a0%80']) {
      expect([body, ...(await post(body))]).toEqual([body, 400, 'bad_form']);
    }
    expect(await post(new Uint8Array([0x61, 0x3d, 0xff]))).toEqual([400, 'bad_form']);
    const body = 'name=ada&name=bea&address=ada@example.org';
    const answer = await fetchPage(server, '/developers/sign-in', { method: 'POST', body });
    expect([answer.status, answer.refusal]).toEqual([400, 'bad_form']);
  });

  test('with a malformed chunk is refused', async () => {
    const lines = Object.entries(SAME_ORIGIN).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `POST ${PATH} HTTP/1.1\r\nHost: a\r\n${lines.join('')}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const answer = takeApart(await sendRaw(server, Buffer.from(`${head}3\r\na=1\r\nzz\r\n`)));
    expect([0, 400]).toContain(answer.status);
  });
});

test('a form is read exactly as sent, without trimming', async () => {
  const texts = fc.array(fc.tuple(fc.constantFrom('one', 'many'), fc.string({ unit: ANY_CHARACTER })), {
    maxLength: 6,
  });
  await fc.assert(
    fc.asyncProperty(texts, async (pairs) => {
      const body = new URLSearchParams(pairs).toString();
      const form = await readForm(new Request('http://a/', { method: 'POST', body, headers: SAME_ORIGIN }));
      for (const name of ['one', 'many']) {
        const typed = pairs.filter(([wanted]) => name === wanted).map(([, text]) => text);
        expect(allValues(form, name)).toEqual(typed);
        if (typed.length < 2) expect(oneValue(form, name)).toBe(typed[0] ?? '');
        else expect(await refusal(() => oneValue(form, name))).toMatchObject({ code: 'bad_form' });
      }
    }),
  );
});

test('unknown parameters of a query are ignored; those that are read must be percent-encoded, each once', async () => {
  const request = new Request('http://a/?utm=a&utm=a&state=a%20b&%zz&double=a&double=b&bad=%ff&worse=%');
  expect([queryValue({ request }, 'state'), queryValue({ request }, 'absent')]).toEqual(['a b', '']);
  for (const name of ['double', 'bad', 'worse']) {
    expect(await refusal(() => queryValue({ request }, name))).toMatchObject({ code: 'bad_parameter' });
  }
});

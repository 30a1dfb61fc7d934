import { expect, test } from 'bun:test';
import { checkServerUrl, remoteHost, remoteToken } from '../../../shared/config/remote.ts';
import { AppError } from '../../../shared/errors.ts';

test('a server has one name, however its URL is written', () => {
  const names: [string, string][] = [
    ['https://api.example.org', 'https://api.example.org'],
    [' HTTPS://API.Example.org:443/ ', 'https://api.example.org'],
    ['https://example.org:8443/profiles//', 'https://example.org:8443/profiles'],
    ['https://example.org/a/../profiles', 'https://example.org/profiles'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['http://localhost:3000', 'http://localhost:3000'],
    ['http://127.1:3000/', 'http://127.0.0.1:3000'],
    ['http://[0:0::1]:3000', 'http://[::1]:3000'],
  ];
  for (const [text, name] of names) expect(checkServerUrl('--host', text)).toBe(name);
});

test('a string that is not a server’s URL, or would send a token unencrypted, is refused with the name of its variable or flag', () => {
  const ADDRESS = /^--host must look like https:/;
  const CLEAR = /^--host must begin with https:/;
  const faults: [string, RegExp][] = [
    ['', ADDRESS],
    ['api.example.org', ADDRESS],
    ['localhost:3000', ADDRESS],
    ['ftp://example.org', ADDRESS],
    ['https://user:hunter2@example.org', ADDRESS],
    ['https://example.org?x=1', ADDRESS],
    ['https://example.org/#x', ADDRESS],
    ['http://example.org', CLEAR],
    ['http://192.168.1.2:3000', CLEAR],
    ['http://127.0.0.1.evil.example', CLEAR],
    ['http://localhost.evil.example', CLEAR],
    ['https://example.org/developers/keys', /^--host must be the base URL of the server, without \/developers\.$/],
    ['https://example.org/prefix/manage/v1', /without \/manage\.$/],
    ['https://example.org/api', /without \/api\.$/],
  ];
  for (const [text, sentence] of faults) {
    const refused = () => checkServerUrl('--host', text);
    expect(refused).toThrow(AppError);
    expect(refused).toThrow(sentence);
    expect(refused).not.toThrow(/hunter2/);
  }
});

test('empty variables are unset, and an invalid token is not repeated', () => {
  expect([remoteHost({}), remoteToken({})]).toEqual([null, null]);
  expect([remoteHost({ PROFILECTL_HOST: '' }), remoteToken({ PROFILECTL_TOKEN: '' })]).toEqual([null, null]);
  expect(remoteToken({ PROFILECTL_TOKEN: 'plt_x' })).toBe('plt_x');
  expect(() => remoteHost({ PROFILECTL_HOST: 'nonsense' })).toThrow(/^PROFILECTL_HOST must look like/);
  expect(() => remoteToken({ PROFILECTL_TOKEN: 'hunter2\n' })).toThrow(
    /^PROFILECTL_TOKEN must consist of letters, digits and - \. _ ~ \+ \/\.$/,
  );
});

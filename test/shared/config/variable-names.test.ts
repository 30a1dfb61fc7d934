import { describe, expect, test } from 'bun:test';
import { nameWarnings, nearestVariable } from '../../../shared/config/variable-names.ts';
import { VARIABLES } from '../../../shared/config/variables.ts';

describe('a name that nearly matches a variable', () => {
  test('is recognised if letters are wrong, missing, extra or swapped, in upper or lower case', () => {
    for (const [name, meant] of [
      ['PRT', 'PORT'],
      ['port', 'PORT'],
      ['HOTS', 'HOST'],
      ['WORKER', 'WORKERS'],
      ['LOGLEVEL', 'LOG_LEVEL'],
      ['MAIL_FORM', 'MAIL_FROM'],
      ['PUBLIC_URI', 'PUBLIC_URL'],
      ['ADMIN_MAIL', 'ADMIN_EMAIL'],
      ['DATABSE_PAHT', 'DATABASE_PATH'],
      ['METRICS_TOKEN_FILES', 'METRICS_TOKEN_FILE'],
    ] as const) {
      expect([name, nearestVariable(name)]).toEqual([name, meant]);
    }
    for (const name of Object.keys(VARIABLES)) expect(nearestVariable(`${name}S`)).not.toBeNull();
  });

  test('is not reported if it is a common variable of other programs', () => {
    const common = 'HOME HOSTNAME HOSTTYPE LOGNAME MAIL PATH PWD SHELL SHLVL TERM USER LANG SSL_CERT_FILE DATABASE_URL';
    const others =
      'HTTP_HOST HTTP_PORT SMTP_HOST HTTPS_PROXY CONTEXT MAILTO XPC_FLAGS EDITOR CI NODE_ENV INVOCATION_ID';
    const source = Object.fromEntries(`${common} ${others}`.split(' ').map((name) => [name, 'x']));
    expect(nameWarnings(source, [])).toEqual([]);
  });
});

test('warnings name all unknown variables in a file, those in the environment only if they nearly match, and never a value', () => {
  const values = { PORT: '1', PRT: 'hunter2', FOO: 'hunter2', BAR: 'hunter2', NODE_ENV: 'production', TZ: 'UTC' };
  const source = { ...values, HOTS: 'hunter2', ELSE: 'hunter2', HOST: '::1' };
  expect(nameWarnings(source, [{ path: 'a.env', values }])).toEqual([
    'a.env sets PRT, which is not read; did you mean PORT?',
    'a.env sets unknown variables: FOO, BAR.',
    'The environment sets HOTS, which is not read; did you mean HOST?',
  ]);
});

import { describe, expect, test } from 'bun:test';
import { nameWarnings, nearestVariable } from '../../../shared/config/variable-names.ts';
import { VARIABLES } from '../../../shared/config/variables.ts';

describe('a name that is nearly a variable’s', () => {
  test('is recognised: a letter wrong, missing, too many or swapped, in any case', () => {
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

  test('is not seen where machines have names of their own', () => {
    const common = 'HOME HOSTNAME HOSTTYPE LOGNAME MAIL PATH PWD SHELL SHLVL TERM USER LANG SSL_CERT_FILE DATABASE_URL';
    const others =
      'HTTP_HOST HTTP_PORT SMTP_HOST HTTPS_PROXY CONTEXT MAILTO XPC_FLAGS EDITOR CI NODE_ENV INVOCATION_ID';
    const source = Object.fromEntries(`${common} ${others}`.split(' ').map((name) => [name, 'x']));
    expect(nameWarnings(source, [])).toEqual([]);
  });
});

test('a file’s unknown names are all told, the environment’s only where they are nearly right, and no value ever', () => {
  const values = { PORT: '1', PRT: 'hunter2', FOO: 'hunter2', BAR: 'hunter2', NODE_ENV: 'production', TZ: 'UTC' };
  const source = { ...values, HOTS: 'hunter2', ELSE: 'hunter2', HOST: '::1' };
  expect(nameWarnings(source, [{ path: 'a.env', values }])).toEqual([
    'a.env sets PRT, which is not read; did you mean PORT?',
    'a.env sets FOO, BAR, which are no variables of this program.',
    'The environment sets HOTS, which is not read; did you mean HOST?',
  ]);
});

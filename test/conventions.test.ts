import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { formNameOf } from '../shared/keys/fields/input-facts.ts';
import { ALL_OPERATIONS, DECISIONS } from '../shared/operations.ts';
import { PROJECT } from './support/cli.ts';
import { FILES, hasSqlText, importsInCircles, longFunctions, SOURCES, type Source } from './support/source/sources.ts';
import { timesReadOutside } from './support/source/times.ts';

// The rules of CONTRIBUTING.md that can be checked automatically, over every file that git tracks or would track.

const inFolder = (folder: string) => SOURCES.filter((source) => source.path.startsWith(`${folder}/`));

/** The files whose code matches. */
function filesWith(pattern: RegExp): string[] {
  return SOURCES.filter(({ text }) => pattern.test(withoutComments(text))).map(({ path }) => path);
}

function importersOf(packageName: string): string[] {
  return SOURCES.filter(({ imports }) =>
    imports.some((name) => name === packageName || name.startsWith(`${packageName}/`)),
  ).map(({ path }) => path);
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');
}

function expectNone(sources: readonly Source[], forbidden: (name: string, path: string) => boolean): void {
  const offences = sources.flatMap(({ path, imports }) =>
    imports.filter((name) => forbidden(name, path)).map((name) => `${path} imports ${name}`),
  );
  expect(offences).toEqual([]);
}

test('tests start commands and servers from the binary of the test run, except for promises about the source', () => {
  const testFiles = FILES.filter((path) => /^test\/.*\.test\.ts$/.test(path) && path !== 'test/conventions.test.ts');
  const starting = testFiles.filter((path) =>
    /fromSource\(|cli\/main\.ts/.test(readFileSync(join(PROJECT, path), 'utf8')),
  );
  expect(starting.sort()).toEqual([
    'test/cli/environment.test.ts',
    'test/cli/service/demo.test.ts',
    'test/starting.test.ts',
  ]);
});

test('there are files to check', () => {
  expect(SOURCES.length).toBeGreaterThan(40);
  expect(importersOf('commander').length).toBeGreaterThan(5);
});

describe('imports', () => {
  test('the server imports no terminal, SQL or mail', () => {
    expectNone(inFolder('server'), (name) =>
      /^(cli\/|drizzle-orm|bun:sqlite|nodemailer|commander|inquirer|@inquirer)/.test(name),
    );
  });

  test('the command line imports no HTTP, SQL or mail, and only serve and demo start the server', () => {
    expectNone(
      inFolder('cli'),
      (name, path) =>
        /^(drizzle-orm|bun:sqlite|nodemailer|elysia|@elysiajs)/.test(name) ||
        (name.startsWith('server/') && !/^cli\/service\/(serve|demo)\.ts$/.test(path)),
    );
  });

  test('the product imports neither door, nor their frameworks', () => {
    expectNone(inFolder('shared'), (name) =>
      /^(server\/|cli\/|elysia|@elysiajs|commander|inquirer|@inquirer)/.test(name),
    );
  });

  test('the pure files import no database, mail or configuration', () => {
    const pure = [
      ...['key', 'secret', 'permissions', 'expiry', 'list-cursor'].map((name) => `shared/keys/${name}.ts`),
      ...['inputs', 'input-rules', 'input-text'].map((name) => `shared/keys/fields/${name}.ts`),
      'shared/keys/life/approval.ts',
      ...['rate-limit', 'ring', 'account'].map((name) => `shared/limits/${name}.ts`),
      ...['passkey-json', 'passkey-keys', 'passkey-answers', 'decision'].map((name) => `shared/passkeys/${name}.ts`),
      ...['shared/tickets/purposes.ts', 'shared/sign-ins/periods.ts'],
    ];
    const files = SOURCES.filter(({ path }) => [...pure, 'shared/profiles/name.ts', 'shared/text.ts'].includes(path));
    expect(files.length).toBe(pure.length + 2);
    expectNone(files, (name) =>
      /^(shared\/(db\/(?!key-columns)|mail|config|deps)|drizzle-orm|bun:sqlite|nodemailer)/.test(name),
    );
  });
});

test('limits import only errors, the clock and what opens a file', () => {
  expectNone(
    inFolder('shared/limits'),
    (name) => !/^(shared\/(limits\/|errors\.|clock\.|db\/(catalog|connect|real-path|faults)\.)|node:)/.test(name),
  );
});

test('only the files that open limits import one of their two implementations', () => {
  const openers = [
    'server/process/service.ts',
    'server/process/workers/shared-state.ts',
    'server/process/workers/messages.ts',
    'server/process/workers/worker.ts',
  ];
  const others = SOURCES.filter(({ path }) => !path.startsWith('shared/limits/') && !openers.includes(path));
  // The throttle uses the same kind of lock.
  expectNone(others, (name) => /^shared\/limits\/(one-thread|threads\/(?!lock\.)|file\/(?!store\.))/.test(name));
});

/** The rooms of `shared/`, from the lowest to the highest; those in one line do not import each other. */
const ROOM_ORDER = [
  ['refusal', 'portal-refusals', 'refusals'],
  [
    'errors',
    'clock',
    'iso-time',
    'random',
    'text',
    'net',
    'etag',
    'version',
    'binary',
    'user',
    'file-mode',
    'give-name',
  ],
  ['shown-version'],
  ['actor'],
  ['db'],
  ['db-files'],
  ['limits', 'mail'],
  // Its schema checks rate limits and mail servers.
  ['config'],
  ['deps'],
  ['outbox'],
  ['profiles'],
  ['keys'],
  ['usage', 'mail-texts'],
  ['approval'],
  ['sessions-file'],
  ['tickets', 'sign-ins'],
  ['sign-in', 'passkeys'],
  ['admins', 'backends'],
  ['erasure'],
  ['operations'],
  ['upkeep'],
  ['api', 'sample'],
];

/** The room of a file of `shared/` or `cli/`: its folder, or its own name if it is beside the folders. */
function roomOf(path: string): string {
  return (path.split('/')[1] as string).replace(/\.(ts|jsonl)$/, '');
}

test('each room imports only itself and rooms below it, types included', () => {
  const levelOf = (room: string) => ROOM_ORDER.findIndex((rooms) => rooms.includes(room));
  expect(inFolder('shared').filter(({ path }) => levelOf(roomOf(path)) === -1)).toEqual([]);
  expectNone(inFolder('shared'), (name, path) => {
    const [from, to] = [roomOf(path), name.startsWith('shared/') ? roomOf(name) : null];
    // The files of the lowest line may import each other.
    return to !== null && from !== to && levelOf(to) >= Math.max(levelOf(from), 1);
  });
});

/** The rooms of `cli/`, from the lowest to the highest; those of one line may import each other. */
const CLI_ORDER = [
  ['terminal'],
  ['context'],
  ['configuration', 'open-database'],
  ['remote'],
  ['database'],
  ['access'],
  ['keys', 'admins', 'tokens', 'profiles', 'db', 'config', 'mail', 'service', 'completion', 'help'],
  ['program', 'build'],
  ['main'],
];

test('each room of the command line imports only itself and rooms below it; commands may use each other', () => {
  const levelOf = (path: string) => CLI_ORDER.findIndex((rooms) => rooms.includes(roomOf(path)));
  expect(inFolder('cli').filter(({ path }) => levelOf(path) === -1)).toEqual([]);
  expectNone(inFolder('cli'), (name, path) => name.startsWith('cli/') && levelOf(name) > levelOf(path));
});

/**
 * The rooms that each room of `server/` may import. `app.ts` and `main.ts` are above them all; `thread` has what the
 * applications of the portal's thread share.
 */
const SERVER_ROOMS: Record<string, string[]> = {
  'html.ts': [],
  observability: [],
  http: ['observability'],
  frame: ['html.ts', 'http'],
  api: ['http', 'observability'],
  docs: ['html.ts', 'frame', 'api', 'http', 'observability'],
  thread: ['http'],
  manage: ['thread', 'docs', 'http'],
  portal: ['html.ts', 'frame', 'docs', 'manage', 'thread', 'http'],
  process: ['manage', 'thread', 'http', 'observability'],
};

/** The files of `server/` that import more than their room may, with the reason. */
const ABOVE_THEIR_ROOM: Record<string, string> = {
  'server/docs/openapi/samples.ts': 'at build time, the document is made from the responses of the whole application',
  'server/process/portal-forward.ts':
    'refuses a page as the portal does, and loads the portal at the first such refusal',
  'server/process/portal-thread.ts': 'the main file of the portal’s thread',
  'server/process/service.ts': 'answers in place of the portal’s thread, and then loads its application',
  'server/process/workers/worker.ts': 'the main file of a worker’s thread',
};

test('each room of the server imports only itself and rooms below it, types included', () => {
  const roomOfServer = (path: string) => path.split('/')[1] as string;
  const isAllowed = (from: string, to: string) => from === to || SERVER_ROOMS[from]?.includes(to) === true;
  const below = inFolder('server').filter(({ path }) => !/^server\/(app|main)\.ts$/.test(path));
  const offending = below.filter(({ path, imports }) =>
    imports.some((name) => name.startsWith('server/') && !isAllowed(roomOfServer(path), roomOfServer(name))),
  );
  expect(offending.map(({ path }) => path)).toEqual(Object.keys(ABOVE_THEIR_ROOM));
});

test('a folder has at most 20 files, without its subfolders', () => {
  const own = FILES.filter((path) => /^(server|cli|shared|test)\//.test(path));
  const files = Map.groupBy(own, (path) => path.slice(0, path.lastIndexOf('/')));
  expect([...files].filter(([, inIt]) => inIt.length > 20).map(([folder]) => folder)).toEqual([]);
});

test('test/ mirrors the rooms: its folders have the same names', () => {
  const folders = FILES.filter((path) => /^test\/(server|cli|shared)\//.test(path)).map((path) => dirname(path));
  const missing = [...new Set(folders)].filter((path) => !existsSync(join(PROJECT, path.slice('test/'.length))));
  expect(missing).toEqual([]);
});

test('there is no `any` and no cast past the type checker', () => {
  const files = ['server', 'cli', 'shared'].flatMap(inFolder).filter(({ text }) => {
    const isUnchecked = /\bas unknown as\b|\bas never\b|(?:[:<|]\s*|\bas )any\b(?! [a-z])/.test(withoutComments(text));
    return isUnchecked || /@ts-(ignore|expect-error|nocheck)/.test(text);
  });
  expect(files.map(({ path }) => path)).toEqual([]);
});

test('files import at their top, except those that load the mailer, passkeys or commands; the server may import later', () => {
  const late = filesWith(/\bimport\(|\brequire\(/).filter((path) => !path.startsWith('server/'));
  expect(late.sort()).toEqual([
    'cli/program.ts',
    'shared/deps.ts',
    'shared/passkeys/assertions.ts',
    'shared/passkeys/registration.ts',
  ]);
});

describe('cycles and length', () => {
  test('imports have no cycles, types included', () => {
    expect(importsInCircles(SOURCES)).toEqual([]);
    const [one, two, three] = ['a.ts', 'b.ts', 'c.ts'];
    const sources = [
      { path: one, imports: [two, 'elysia'] },
      { path: two, imports: [one, three] },
      { path: three, imports: [] },
    ];
    expect(importsInCircles(sources)).toEqual(['a.ts → b.ts', 'b.ts → a.ts']);
  });

  test('a function has at most 60 lines, including the functions inside it', () => {
    expect(SOURCES.flatMap((source) => longFunctions(source, 60))).toEqual([]);
    const text =
      '/** Told. */\nexport function a() {\n  return () => {\n    1;\n  };\n}\nconst b = {\n  c: () => [\n\n\n],\n};';
    expect(longFunctions({ path: 'x.ts', text }, 3)).toEqual(['x.ts: a', 'x.ts: c']);
  }, 30_000);

  test('a file has at most about 200 lines', () => {
    const long = SOURCES.filter(({ text }) => text.trimEnd().split('\n').length > 210);
    expect(long.map(({ path }) => path)).toEqual([]);
  });
});

describe('only these files use', () => {
  const owners: [string, RegExp | string, string[]][] = [
    ['SQLite', 'bun:sqlite', ['shared/db/connect.ts', 'shared/db/faults.ts']],
    ['nodemailer', 'nodemailer', ['shared/mail/mailer.ts']],
    [
      'the check of passkeys; passkey-json.ts has the types',
      '@simplewebauthn/server',
      ['shared/passkeys/passkey-answers.ts', 'shared/passkeys/passkey-json.ts', 'shared/passkeys/passkey-keys.ts'],
    ],
    [
      'the environment; examples.ts shows clients how to read it',
      /process\.env|Bun\.env|import\.meta\.env/,
      ['server/docs/page/examples.ts', 'shared/config/environment.ts'],
    ],
    ['the exit', /process\.(exit|exitCode|abort|kill)\b/, ['cli/main.ts']],
    [
      'the clocks',
      /Date\.now\(|new Date\(\)|performance\.(now|timeOrigin)|Bun\.nanoseconds|hrtime/,
      ['shared/clock.ts'],
    ],
    [
      'the comparison of e-mail addresses, which ignores case',
      /\[A-Z\]\/g, [^\n]*toLowerCase|\b\w*([eE]mail|[aA]ddress)\b(\.to\w+Case\(\)| (===|!==) (?!null\b|undefined\b|true\b|last\b|'string'))|(lower|upper)\(email|email (COLLATE|=[ ?$])/,
      ['shared/mail/address.ts'],
    ],
    ['randomness', /getRandomValues|Math\.random|randomBytes/, ['shared/random.ts']],
    [
      'writing of data that servers show of profiles',
      /(INTO|UPDATE|DELETE FROM) (profiles|profile_names|links)\b|\.(insert|update|delete)\((profiles|profileNames|links)\)/,
      ['shared/erasure/erase-profile.ts', 'shared/profiles/edit/pending-names.ts', 'shared/profiles/edit/write-row.ts'],
    ],
    [
      'notes of it for caches; pending-names.ts and write-row.ts write for apply.ts only',
      /\bnoteChanges\(/,
      ['shared/db/changes.ts', 'shared/erasure/erase-profile.ts', 'shared/profiles/edit/apply.ts'],
    ],
    [
      'transactions whose function notes the profiles it changes',
      /\bwriteProfiles\(/,
      [
        'shared/db/write.ts',
        'shared/erasure/erase-profile.ts',
        'shared/profiles/edit/change.ts',
        'shared/profiles/import/import-batch.ts',
        'shared/profiles/import/import-strict.ts',
      ],
    ],
    [
      'write transactions, which declare what they change; migrations, sessions and the quota file have their own',
      /\.immediate\(|behavior: 'immediate'/,
      [
        'shared/db/migrate.ts',
        'shared/db/write.ts',
        'shared/limits/file/store.ts',
        'shared/sessions-file/sessions-file.ts',
      ],
    ],
    [
      'changes of keys for people; doors call perform()',
      /\b(request|edit|withdraw|approve|change|reject|revoke)Key\(|\bmoveAndNotify\(|\.act\(/,
      [
        ...['shared/keys/life/change.ts', 'shared/keys/life/lifecycle.ts', 'shared/keys/life/move.ts'],
        ...['issued', 'owners', 'requests'].map((name) => `shared/operations/${name}.ts`),
        'shared/operations.ts',
      ],
    ],
    ['the authorisation of an admin’s decision', /hasAsserted: true/, ['shared/passkeys/assertions.ts']],
    [
      'notes of an erasure for the next VACUUM',
      /\bnoteErasure\(/,
      ['shared/db/erasures.ts', 'shared/erasure/erase-profile.ts', 'shared/profiles/edit/apply.ts'],
    ],
    // A number near the word: `status: 404`, `status >= 500`, `statuses.includes(429)`.
    [
      'error statuses',
      /\bstatus(es|Code)?\b[^\n;{}]{0,30}?\b[45]\d\d\b/i,
      ['shared/portal-refusals.ts', 'shared/refusals.ts'],
    ],
    ['exit codes', /\b(exitCode|code): \d/, ['shared/portal-refusals.ts', 'shared/refusals.ts']],
  ];
  for (const [what, sign, files] of owners) {
    test(what, () => {
      const found = typeof sign === 'string' ? importersOf(sign) : filesWith(sign);
      expect(found.sort()).toEqual([...files].sort());
    });
  }
});

/** The files of doors that name an operation which changes a key, and why they are not a loop over the table. */
const NAMING_OPERATIONS: Readonly<Record<string, string>> = {
  'cli/service/demo.ts': 'requests and approves the key that it shows',
  'cli/keys/approve.ts': 'walks through the queue if no key is named',
  'cli/keys/queue.ts': 'its own walk, in which each request is approved, rejected or skipped',
  'cli/keys/request.ts': 'a form that asks for each field, and shows the whole request before sending it',
  'cli/program.ts': 'its table of commands names the files of commands with their own layout',
  'server/portal/admin/queue.browser.js': 'its keys that press the buttons of a row',
  'server/portal/owner/new-key.ts': 'the same form on a page',
};

test('doors are loops over the table of operations; only listed files name an operation that changes a key', () => {
  const names = ALL_OPERATIONS.filter(({ event }) => event !== null).map(({ name }) => name);
  // Requests are counted in words too.
  const quoted = names.filter((name) => name !== 'request').join('|');
  const naming = new RegExp(
    `\\bOPERATIONS\\.(${names.join('|')})\\b|['"\`](${quoted})['"\`]|\\b(canMove|refuseMove)\\(|'key-[a-z]`,
  );
  const scripts = FILES.filter(
    (path) => /^server\/portal\/.*\.browser\.js$/.test(path) && naming.test(readFileSync(join(PROJECT, path), 'utf8')),
  );
  const found = [...filesWith(naming), ...scripts].filter((path) => /^(cli|server)\//.test(path));
  expect(found.sort()).toEqual(Object.keys(NAMING_OPERATIONS).sort());
});

test('and go by the kinds of inputs, not by the names of those that admins decide on', () => {
  const fields = DECISIONS.flatMap(({ input }) => Object.entries(input.shape));
  const names = new Set(fields.flatMap(([name, schema]) => [name, formNameOf(name, schema)]));
  // Names of paths and of kinds.
  for (const other of ['identifier', 'permissions']) names.delete(other);
  const naming = new RegExp(`['"\`](${[...names].join('|')})['"\`]|\\bKEY_CHANGE\\b`);
  const found = filesWith(naming).filter((path) => /^(cli\/(keys|completion)|server\/(portal|manage))\//.test(path));
  expect(found).toEqual([]);
});

describe('SQL as text', () => {
  const NO_DRIZZLE = 'no Drizzle, which takes 11 MB of memory';
  const WORKERS = `each worker runs it, and loads ${NO_DRIZZLE}`;
  const FIELDS_TABLE = 'made from the table of fields';
  const TEMPORARY = 'a temporary table of an import, which no schema has';
  const reasons: Record<string, string> = {
    'shared/keys/list-page.ts': 'INDEXED BY, which the builder lacks, and a cursor over several reads of an index',
    'shared/keys/verify.ts': WORKERS,
    'shared/profiles/lookup/cache.ts': WORKERS,
    'shared/profiles/leaderboard/leaderboard.ts': WORKERS,
    'shared/profiles/lookup/public.ts': `${FIELDS_TABLE}; ${WORKERS}`,
    'shared/profiles/lookup/public-size.ts': FIELDS_TABLE,
    'shared/profiles/record.ts': `${FIELDS_TABLE}; an import reads a row by it in 1.0 µs, by Drizzle in 2.5; an export walks its rows one by one`,
    'shared/profiles/import/import-strict.ts': TEMPORARY,
    'shared/profiles/edit/pending-names.ts': `${TEMPORARY}; the others run for every line`,
    'shared/profiles/import/deferred-lines.ts': TEMPORARY,
    'shared/profiles/import/prune-candidates.ts': TEMPORARY,
    'shared/profiles/import/wishes.ts': TEMPORARY,
    'shared/profiles/edit/write-row.ts': `${FIELDS_TABLE}; every line of an import runs it: prepared by Drizzle, an insert took 1.2 times as long`,
    'shared/usage/usage-store.ts': `each worker loads it with the rest of the service, and ${NO_DRIZZLE}`,
  };
  // The folders that make SQLite work, and the quota file.
  const isAllowed = (path: string) => /^shared\/(db|db-files|limits\/file)\//.test(path);

  test('is only in the files listed with a reason, at most 22; all else uses Drizzle’s builder', () => {
    const found = SOURCES.filter((source) => !isAllowed(source.path) && hasSqlText(source));
    expect(found.map(({ path }) => path).sort()).toEqual(Object.keys(reasons).sort());
    expect(found.length).toBeLessThanOrEqual(22);
  }, 30_000);

  test('is used by workers instead of Drizzle, which they do not load', () => {
    const worker = join(PROJECT, 'server/process/workers/worker.ts');
    const isDrizzle = '(path) => path.includes("node_modules/drizzle-orm/")';
    const script = `await import(${JSON.stringify(worker)});
      console.log(JSON.stringify(Object.keys(require.cache).filter(${isDrizzle})));
      process.exit(0);`;
    const { stdout } = Bun.spawnSync([process.execPath, '-e', script], { cwd: PROJECT });
    expect(JSON.parse(stdout.toString())).toEqual([]);
  }, 30_000);

  test('is found in every kind of string, but not inside the builder’s templates', () => {
    const isFound = (text: string) => hasSqlText({ path: 'x.ts', text });
    for (const text of [
      "db.query('SELECT 1 FROM keys');",
      `const all = \`DELETE FROM \${table}\`;`,
      "sql.raw('UPDATE keys SET state = 1');",
      "sqlite.run('BEGIN EXCLUSIVE');",
      "sqlite.run('PRAGMA foreign_keys = ON');",
      'tx.run(sql`INSERT INTO keys VALUES (1)`);',
      `where(sql\`id IN (\${list('SELECT id FROM keys')})\`);`,
    ])
      expect([text, isFound(text)]).toEqual([text, true]);
    for (const text of [
      `where(sql\`id IN (SELECT value FROM json_each(\${ids}))\`);`,
      '// SELECT is not said here.',
      "const sentence = 'Select a key. After that, VACUUM removes it.';",
    ])
      expect([text, isFound(text)]).toEqual([text, false]);
  });
});

describe('time', () => {
  test('no transaction compares or stores a time read before it got the write lock', () => {
    expect(timesReadOutside(inFolder('shared'))).toEqual([]);
  });

  test('such a time is found however it gets into the transaction, and no other', () => {
    const found = (body: string) =>
      timesReadOutside([
        { path: 'a.ts', text: 'export function through(db, act) {\n  write(db, (tx) => act(tx));\n}' },
        { path: 'b.ts', text: `function f(db, clock, row, nowMs) {\n${body}\n}` },
      ]);
    const bad = {
      'write(db, () => store(nowMs));': 'nowMs',
      'const atMs = clock.nowMs();\nwrite(db, () => store({ atMs }));': 'atMs',
      'const settledMs = clock.settledMs();\nwriteSessions(db, () => settledMs);': 'settledMs',
      'const act = { by: 1, atMs: nowMs };\nwriteProfiles(db, (tx) => move(tx, act));': 'act',
      'const endMs = nowMs + 5;\nthrough(db, (tx) => tx.run(endMs));': 'endMs',
      'write(db, () => row.nowMs > 7);': 'row.nowMs',
      'prepareWrite(db, (at) => store(at))(nowMs);': 'nowMs',
    };
    for (const [body, name] of Object.entries(bad))
      expect([body, found(body)]).toEqual([body, [`b.ts: f uses ${name}`]]);
    for (const body of [
      'write(db, () => store(clock.nowMs()));',
      'write(db, (tx) => {\n  const nowMs = clock.nowMs();\n  tx.run({ nowMs, atMs: nowMs });\n});',
      'through(db, (tx, nowMs) => tx.run(nowMs));',
      'if (clock.nowMs() > 7) write(db, () => store(row.expiresAt));',
      'look(db, () => nowMs);',
    ]) {
      expect([body, found(body)]).toEqual([body, []]);
    }
  });
});

describe('conventions', () => {
  test('shared/db and shared/db-files mark sentences about files when they make them, and have no rule of the product', () => {
    expect(filesWith(/AppError\(\s*'refused'/).filter((file) => /^shared\/db(-files)?\//.test(file))).toEqual([]);
  });

  test('there are no default exports, barrels or utils, and no classes except errors', () => {
    expect(filesWith(/export default/)).toEqual([]);
    expect(filesWith(/export \* from|export \{[^}]*\} from/)).toEqual([]);
    expect(FILES.filter((path) => /(^|\/)(utils?|helpers?|index)\.ts$/.test(path))).toEqual([]);
    expect(filesWith(/\bclass \w+\b(?! extends Error\b)/)).toEqual([]);
  });

  test('every export has a doc comment', () => {
    const bare = SOURCES.flatMap(({ path, text }) =>
      [...text.matchAll(/(^|\n)([^\n]*)\nexport (?:async )?(?:function\*?|const|type|class) (\w+)/g)]
        .filter((match) => !/(\*\/|^\/\/.*)$/.test(match[2] as string))
        .map((match) => `${path}: ${match[3]}`),
    );
    // The type of a list's members, directly below the documented list.
    const members = [
      'ActorKind',
      'LogLevel',
      'KeyState',
      'Move',
      'AttemptResult',
      'NoticeResult',
      'KeyEventName',
      'UsageOutcome',
    ];
    expect(bare.filter((name) => !members.includes(name.split(': ')[1] as string))).toEqual([]);
  });

  test('test files are below test/ and end with .test.ts', () => {
    expect(FILES.filter((path) => path.endsWith('.test.ts') && !path.startsWith('test/'))).toEqual([]);
  });
});

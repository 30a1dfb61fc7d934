import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ALL_OPERATIONS } from '../shared/operations.ts';
import { PROJECT } from './support/cli.ts';
import { FILES, hasSqlText, importsInCircles, longFunctions, SOURCES, type Source } from './support/source/sources.ts';
import { timesReadOutside } from './support/source/times.ts';

// The rules of CONTRIBUTING.md that a machine can check, over every file that git tracks or would.

const inFolder = (folder: string) => SOURCES.filter((source) => source.path.startsWith(`${folder}/`));

/** The files whose text matches, their own line of shame. */
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

test('commands and servers start from the binary of a test run, but for what is promised of the source', () => {
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

test('there is something to check', () => {
  expect(SOURCES.length).toBeGreaterThan(40);
  expect(importersOf('commander').length).toBeGreaterThan(5);
});

describe('who may import whom', () => {
  test('the server does not know the terminal, SQL or mail', () => {
    expectNone(inFolder('server'), (name) =>
      /^(cli\/|drizzle-orm|bun:sqlite|nodemailer|commander|inquirer|@inquirer)/.test(name),
    );
  });

  test('the terminal does not know HTTP, SQL or mail; only serve and demo start the server', () => {
    expectNone(
      inFolder('cli'),
      (name, path) =>
        /^(drizzle-orm|bun:sqlite|nodemailer|elysia|@elysiajs)/.test(name) ||
        (name.startsWith('server/') && !/^cli\/service\/(serve|demo)\.ts$/.test(path)),
    );
  });

  test('the product knows neither door, nor any framework of theirs', () => {
    expectNone(inFolder('shared'), (name) =>
      /^(server\/|cli\/|elysia|@elysiajs|commander|inquirer|@inquirer)/.test(name),
    );
  });

  test('the pure files know no database, mail or configuration', () => {
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

test('limits are given what they need: they know errors, the clock and how to open a file', () => {
  expectNone(
    inFolder('shared/limits'),
    (name) => !/^(shared\/(limits\/|errors\.|clock\.|db\/(catalog|connect|real-path|faults)\.)|node:)/.test(name),
  );
});

test('nobody outside knows in which of its two ways limits are kept, but who opens them', () => {
  const openers = [
    'server/process/service.ts',
    'server/process/workers/shared-state.ts',
    'server/process/workers/messages.ts',
    'server/process/workers/worker.ts',
  ];
  const others = SOURCES.filter(({ path }) => !path.startsWith('shared/limits/') && !openers.includes(path));
  // The throttle has locks of the same kind.
  expectNone(others, (name) => /^shared\/limits\/(one-thread|threads\/(?!lock\.)|file\/(?!store\.))/.test(name));
});

/** The rooms of `shared/`, from the lowest to the highest; those in one line stand side by side and know nothing of each other. */
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

/** The room of a file of `shared/` or `cli/`: its folder, or its own name where it stands beside the folders. */
function roomOf(path: string): string {
  return (path.split('/')[1] as string).replace(/\.(ts|jsonl)$/, '');
}

test('each room imports only itself and rooms below it, types too', () => {
  const levelOf = (room: string) => ROOM_ORDER.findIndex((rooms) => rooms.includes(room));
  expect(inFolder('shared').filter(({ path }) => levelOf(roomOf(path)) === -1)).toEqual([]);
  expectNone(inFolder('shared'), (name, path) => {
    const [from, to] = [roomOf(path), name.startsWith('shared/') ? roomOf(name) : null];
    // The files of the lowest line may use each other.
    return to !== null && from !== to && levelOf(to) >= Math.max(levelOf(from), 1);
  });
});

/** The rooms of `cli/`, from the lowest to the highest: files of one line, which are the commands, may use each other. */
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
 * What the rooms of `server/` may import of each other; `app.ts` and `main.ts` stand above them all. `thread` is what the
 * applications of the portal's thread have in common.
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
  portal: ['html.ts', 'frame', 'manage', 'thread', 'http'],
  process: ['manage', 'thread', 'http', 'observability'],
};

/** The files of `server/` that import more than their room may, and why. */
const ABOVE_THEIR_ROOM: Record<string, string> = {
  'server/docs/openapi/samples.ts': 'at build, the document is made of what the whole application answers',
  'server/process/portal-forward.ts': 'refuses a page as the portal would, which it loads at the first such refusal',
  'server/process/portal-thread.ts': 'the main file of the portal’s thread',
  'server/process/service.ts': 'answers in the place of the portal’s thread, whose application it loads then',
  'server/process/workers/worker.ts': 'the main file of a worker’s thread',
};

test('each room of the server imports only itself and rooms below it, types too', () => {
  const roomOfServer = (path: string) => path.split('/')[1] as string;
  const isAllowed = (from: string, to: string) => from === to || SERVER_ROOMS[from]?.includes(to) === true;
  const below = inFolder('server').filter(({ path }) => !/^server\/(app|main)\.ts$/.test(path));
  const offending = below.filter(({ path, imports }) =>
    imports.some((name) => name.startsWith('server/') && !isAllowed(roomOfServer(path), roomOfServer(name))),
  );
  expect(offending.map(({ path }) => path)).toEqual(Object.keys(ABOVE_THEIR_ROOM));
});

test('a folder has at most 20 files, those in its subfolders not counted', () => {
  const own = FILES.filter((path) => /^(server|cli|shared|test)\//.test(path));
  const files = Map.groupBy(own, (path) => path.slice(0, path.lastIndexOf('/')));
  expect([...files].filter(([, inIt]) => inIt.length > 20).map(([folder]) => folder)).toEqual([]);
});

test('test/ mirrors the rooms: what it has for one lies in a folder of the same name', () => {
  const folders = FILES.filter((path) => /^test\/(server|cli|shared)\//.test(path)).map((path) => dirname(path));
  const missing = [...new Set(folders)].filter((path) => !existsSync(join(PROJECT, path.slice('test/'.length))));
  expect(missing).toEqual([]);
});

test('nothing poses as something else: no `any`, no cast past the type checker', () => {
  const files = ['server', 'cli', 'shared'].flatMap(inFolder).filter(({ text }) => {
    const isUnchecked = /\bas unknown as\b|\bas never\b|(?:[:<|]\s*|\bas )any\b(?! [a-z])/.test(withoutComments(text));
    return isUnchecked || /@ts-(ignore|expect-error|nocheck)/.test(text);
  });
  expect(files.map(({ path }) => path)).toEqual([]);
});

test('files import at their top, except for the mailer, the check of passkeys and the table of commands; the server may import later', () => {
  const late = filesWith(/\bimport\(|\brequire\(/).filter((path) => !path.startsWith('server/'));
  expect(late.sort()).toEqual([
    'cli/program.ts',
    'shared/deps.ts',
    'shared/passkeys/assertions.ts',
    'shared/passkeys/registration.ts',
  ]);
});

describe('circles and length', () => {
  test('no file leads back to itself by what it imports, types too', () => {
    expect(importsInCircles(SOURCES)).toEqual([]);
    const [one, two, three] = ['a.ts', 'b.ts', 'c.ts'];
    const sources = [
      { path: one, imports: [two, 'elysia'] },
      { path: two, imports: [one, three] },
      { path: three, imports: [] },
    ];
    expect(importsInCircles(sources)).toEqual(['a.ts → b.ts', 'b.ts → a.ts']);
  });

  test('a function has at most 60 lines, those inside it included', () => {
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

describe('one owner each', () => {
  const owners: [string, RegExp | string, string[]][] = [
    ['SQLite', 'bun:sqlite', ['shared/db/connect.ts', 'shared/db/faults.ts']],
    ['nodemailer', 'nodemailer', ['shared/mail/mailer.ts']],
    [
      'checking passkeys; passkey-json.ts has the types',
      '@simplewebauthn/server',
      ['shared/passkeys/passkey-answers.ts', 'shared/passkeys/passkey-json.ts', 'shared/passkeys/passkey-keys.ts'],
    ],
    [
      'the environment; examples.ts shows clients how to read theirs',
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
      'comparing e-mail addresses, whose case does not count',
      /\[A-Z\]\/g, [^\n]*toLowerCase|\b\w*([eE]mail|[aA]ddress)\b(\.to\w+Case\(\)| (===|!==) (?!null\b|undefined\b|true\b|last\b|'string'))|(lower|upper)\(email|email (COLLATE|=[ ?$])/,
      ['shared/mail/address.ts'],
    ],
    ['randomness', /getRandomValues|Math\.random|randomBytes/, ['shared/random.ts']],
    [
      'writing what servers show of profiles',
      /(INTO|UPDATE|DELETE FROM) (profiles|profile_names|links)\b|\.(insert|update|delete)\((profiles|profileNames|links)\)/,
      ['shared/erasure/erase-profile.ts', 'shared/profiles/edit/pending-names.ts', 'shared/profiles/edit/write-row.ts'],
    ],
    [
      'noting it for their caches; pending-names.ts and write-row.ts write for apply.ts only',
      /\bnoteChanges\(/,
      ['shared/db/changes.ts', 'shared/erasure/erase-profile.ts', 'shared/profiles/edit/apply.ts'],
    ],
    [
      'transactions whose function notes which profiles it changes',
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
      'write transactions, each of which says what it changes; migrations, the sessions and the quota file have their own',
      /\.immediate\(|behavior: 'immediate'/,
      [
        'shared/db/migrate.ts',
        'shared/db/write.ts',
        'shared/limits/file/store.ts',
        'shared/sessions-file/sessions-file.ts',
      ],
    ],
    [
      'changing keys for people: doors call perform()',
      /\b(request|edit|withdraw|approve|change|reject|revoke)Key\(|\bmoveAndNotify\(|\.act\(/,
      [
        ...[
          'shared/approval/approve.ts',
          'shared/keys/life/change.ts',
          'shared/keys/life/lifecycle.ts',
          'shared/keys/life/move.ts',
        ],
        ...['issued', 'owners', 'requests'].map((name) => `shared/operations/${name}.ts`),
        'shared/operations.ts',
      ],
    ],
    ['letting a decision of an admin through', /hasAsserted: true/, ['shared/passkeys/assertions.ts']],
    [
      'noting an erasure for the next VACUUM',
      /\bnoteErasure\(/,
      ['shared/db/erasures.ts', 'shared/erasure/erase-profile.ts', 'shared/profiles/edit/apply.ts'],
    ],
    // A number beside the word: `status: 404`, `status >= 500`, `statuses.includes(429)`.
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

/** The files of doors that name an operation which changes a key, and why no loop over the table does. */
const NAMING_OPERATIONS: Readonly<Record<string, string>> = {
  'cli/service/demo.ts': 'requests and approves the key that it shows',
  'cli/keys/approve.ts': 'walks through the queue where no key is named',
  'cli/keys/queue.ts': 'a walk of its own, in which each request is approved, rejected or skipped',
  'cli/keys/request.ts': 'a form that is asked for field by field, and shown whole before it is sent',
  'cli/program.ts': 'its table of commands has the files of those with a layout of their own',
  'server/portal/owner/new-key.ts': 'the same form on a page',
};

test('doors are loops over the table of operations: what names one that changes a key is in the list, with its reason', () => {
  const names = ALL_OPERATIONS.filter(({ event }) => event !== null).map(({ name }) => name);
  // Requests are counted in words too.
  const quoted = names.filter((name) => name !== 'request').join('|');
  const naming = new RegExp(
    `\\bOPERATIONS\\.(${names.join('|')})\\b|['"\`](${quoted})['"\`]|\\b(canMove|refuseMove)\\(|'key-[a-z]`,
  );
  const found = filesWith(naming).filter((path) => /^(cli|server)\//.test(path));
  expect(found.sort()).toEqual(Object.keys(NAMING_OPERATIONS).sort());
});

describe('SQL as text', () => {
  const NO_DRIZZLE = 'no Drizzle, which takes 11 MB of memory';
  const WORKERS = `each worker runs it, and loads ${NO_DRIZZLE}`;
  const FIELDS_TABLE = 'made of the table of fields';
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
  // The room that makes SQLite work, and the quota file.
  const isAllowed = (path: string) => /^shared\/(db|db-files|limits\/file)\//.test(path);

  test('stands where it is written down why, in 22 files at most; all else is Drizzle’s builder', () => {
    const found = SOURCES.filter((source) => !isAllowed(source.path) && hasSqlText(source));
    expect(found.map(({ path }) => path).sort()).toEqual(Object.keys(reasons).sort());
    expect(found.length).toBeLessThanOrEqual(22);
  }, 30_000);

  test('is what workers have instead of Drizzle: they load none of it', () => {
    const worker = join(PROJECT, 'server/process/workers/worker.ts');
    const isDrizzle = '(path) => path.includes("node_modules/drizzle-orm/")';
    const script = `await import(${JSON.stringify(worker)});
      console.log(JSON.stringify(Object.keys(require.cache).filter(${isDrizzle})));
      process.exit(0);`;
    const { stdout } = Bun.spawnSync([process.execPath, '-e', script], { cwd: PROJECT });
    expect(JSON.parse(stdout.toString())).toEqual([]);
  }, 30_000);

  test('is found in every kind of string, but not in what the builder takes', () => {
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
  test('no transaction compares or stores a time that was read before it got the write lock', () => {
    expect(timesReadOutside(inFolder('shared'))).toEqual([]);
  });

  test('finds such a time however it gets into the transaction, and no other', () => {
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

describe('habits', () => {
  test('sentences about files are marked when they are made: shared/db and shared/db-files know no rule of the product', () => {
    expect(filesWith(/AppError\(\s*'refused'/).filter((file) => /^shared\/db(-files)?\//.test(file))).toEqual([]);
  });

  test('no default exports, no barrels, no utils, no classes but errors', () => {
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
    // The type of a list's members, right below the list that is explained.
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

  test('test files are found by their place: each has .test.ts below test/', () => {
    expect(FILES.filter((path) => path.endsWith('.test.ts') && !path.startsWith('test/'))).toEqual([]);
  });
});

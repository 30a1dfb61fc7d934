import { parseArgs } from 'node:util';
import { type Bench, closeBench, endChildren, openBench, Skipped, whatIsMissing } from './bench.ts';
import { CASES } from './cases.ts';
import { MAX_PROFILES } from './profiles.ts';
import { keepResults } from './report.ts';
import { type Result, textTable } from './results.ts';

// `bun run bench`: speed as ratios, each pair measured in turn on this machine.

const NAMES = CASES.map(({ name }) => name);

const HELP = `bun run bench [options]
  --case <names>     only these, of: ${NAMES.join(' ')}
  --all              the long ones too: ${CASES.filter(({ isLong }) => isLong).map(({ name }) => name)}
  --rounds <n>       measured rounds of each side (5)
  --seconds <n>      length of a round under load (2)
  --profiles <n>     profiles in the database (1000000)
  --keep <folder>    keeps the generated databases there for the next run
  --out <folder>     the folder of results.json, to which results are added (test/bench)
`;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function readOptions() {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      all: { type: 'boolean' },
      case: { type: 'string', multiple: true, default: [] },
      rounds: { ...text, default: '5' },
      seconds: { ...text, default: '2' },
      profiles: { ...text, default: '1000000' },
      keep: text,
      out: { ...text, default: import.meta.dir },
    },
  });
  const wanted = values.case.flatMap((words) => words.split(/[ ,]+/));
  const unknown = wanted.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw new Error(`Unknown case ${unknown}; use one of: ${NAMES.join(', ')}.`);
  const chosen = CASES.filter(({ name, isLong }) =>
    wanted.length > 0 ? wanted.includes(name) : values.all || !isLong,
  );
  return {
    isHelp: values.help === true,
    chosen,
    out: values.out,
    rounds: wholeNumber('--rounds', values.rounds, 1, 1000),
    seconds: wholeNumber('--seconds', values.seconds, 1, 600),
    profiles: wholeNumber('--profiles', values.profiles, 2_000, MAX_PROFILES),
    keep: values.keep ?? null,
  };
}

function wholeNumber(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new Error(`${name} takes a whole number from ${min} to ${max}.`);
}

/** Runs the cases one after the other; returns whether all went well. A missed goal is a result, not an error. */
async function runCases(bench: Bench, { chosen, out }: ReturnType<typeof readOptions>): Promise<boolean> {
  const all: Result[] = [];
  const troubles: string[] = [];
  for (const { name, run } of chosen) {
    process.stderr.write(`${name} …\n`);
    try {
      const results = await run(bench);
      for (const result of results) describe(result);
      all.push(...results);
      keepResults(out, bench, NAMES, results.filter(isRight));
    } catch (error) {
      if (error instanceof Skipped) say(`skipped: ${name}: ${error.message}`);
      else troubles.push(`FAILED: ${name}: ${error instanceof Error ? error.message : error}`);
    }
    await endChildren(bench);
  }
  for (const { name, faults } of all) troubles.push(...faults.slice(0, 3).map((fault) => `WRONG: ${name}: ${fault}`));
  say(textTable(all));
  for (const trouble of troubles) say(trouble);
  return troubles.length === 0;
}

const isRight = ({ faults }: Result): boolean => faults.length === 0;

/** Prints the figures behind a result to stderr, before the next case runs. */
function describe({ what, ratios, figures, samples, faults }: Result): void {
  const lines = Object.entries(figures).map(([name, value]) => `    ${name} ${value}`);
  const checked = `    ${samples} responses checked, ${faults.length} wrong`;
  process.stderr.write(`${[`  ${what}: ${ratios.join(' ')}`, ...lines, checked].join('\n')}\n`);
}

try {
  const options = readOptions();
  const missing = whatIsMissing();
  if (options.isHelp) say(HELP);
  else if (missing !== null) throw new Error(missing);
  else {
    const bench = openBench(options);
    const onSignal = () => {
      closeBench(bench);
      process.exit(130);
    };
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
    try {
      if (!(await runCases(bench, options))) process.exitCode = 1;
    } finally {
      closeBench(bench);
    }
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 2;
}

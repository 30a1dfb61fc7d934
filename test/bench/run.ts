import { parseArgs } from 'node:util';
import { type Bench, closeBench, openBench, Skipped, whatIsMissing } from './bench.ts';
import { CASES } from './cases.ts';
import { MOST_PROFILES } from './profiles.ts';
import { keepResults } from './report.ts';
import { type Result, TABLE_HEAD, tableRow } from './results.ts';

// `bun run bench`: how fast this is, as ratios, each pair measured in turn on this machine.

const HELP = `bun run bench [options]
  --case <name>      only this case; may be given several times: ${CASES.map(({ name }) => name).join(' ')}
  --all              the long cases too: ${CASES.filter(({ isLong }) => isLong).map(({ name }) => name)}
  --rounds <n>       measured rounds of each side (5)
  --seconds <n>      length of a round under load (2)
  --profiles <n>     profiles in the database (1000000)
  --keep <folder>    keeps the generated databases there, for the next time
  --out <folder>     where results.json and results.svg go, and are added to (test/bench)
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
  const unknown = values.case.find((name) => CASES.every((one) => one.name !== name));
  if (unknown !== undefined) throw new Error(`There is no case ${unknown}.`);
  const chosen = CASES.filter(({ name, isLong }) =>
    values.case.length > 0 ? values.case.includes(name) : values.all || !isLong,
  );
  return {
    isHelp: values.help === true,
    chosen,
    out: values.out,
    rounds: wholeNumber('--rounds', values.rounds, 1, 1000),
    seconds: wholeNumber('--seconds', values.seconds, 1, 600),
    profiles: wholeNumber('--profiles', values.profiles, 2_000, MOST_PROFILES),
    keep: values.keep ?? null,
  };
}

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new Error(`${name} takes a whole number from ${least} to ${most}.`);
}

/** Runs the cases one after the other; returns whether all went well. A goal that is missed is a result, not a fault. */
async function runCases(bench: Bench, { chosen, out }: ReturnType<typeof readOptions>): Promise<boolean> {
  let allWell = true;
  say(TABLE_HEAD.join(' | '));
  for (const one of chosen) {
    try {
      const results = await one.run(bench);
      for (const result of results) sayResult(result);
      const right = results.filter(({ faults }) => faults.length === 0);
      if (right.length < results.length) allWell = false;
      keepResults(out, right, bench);
    } catch (error) {
      if (error instanceof Skipped) say(`skipped: ${one.name}: ${error.message}`);
      else {
        say(`FAILED: ${one.name}: ${error instanceof Error ? error.message : error}`);
        allWell = false;
      }
    }
  }
  return allWell;
}

function sayResult(result: Result): void {
  say(tableRow(result).join(' | '));
  for (const [name, value] of Object.entries(result.figures)) say(`    ${name} ${value}`);
  say(`    ${result.samples} answers checked, ${result.faults.length} wrong`);
  for (const fault of result.faults.slice(0, 3)) say(`    WRONG: ${fault}`);
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

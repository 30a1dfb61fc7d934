import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandEnvironment, PROJECT, profilectlWords } from '../cli.ts';
import { noteOutput, noteSecretsIn, noteToken } from '../secret-search.ts';
import { tempFolder } from '../world.ts';
import { hiddenIn } from './admin-pages.ts';
import { codeIn, goOnIn } from './login.ts';
import type { PageAnswer } from './pages.ts';
import { fetchPage } from './pages.ts';

// `profilectl login` as a process, and the person in the browser who allows it.

/** A person's machine: the variables of `profilectl` there, and where it stores its logins. */
export type Laptop = { variables: Record<string, string>; file: string };

/** A machine that has only a terminal, unless `variables` say otherwise. */
export function newLaptop(variables: Record<string, string> = {}): Laptop {
  const folder = tempFolder();
  return { variables: { XDG_CONFIG_HOME: folder, ...variables }, file: join(folder, 'profilectl/hosts.json') };
}

/** A machine whose "browser" only writes the URL to a file; `opened` waits for it. */
export function newDesktop(): Laptop & { opened: () => Promise<string>; isOpened: () => boolean } {
  const file = join(tempFolder(), 'address');
  const opened = async () => {
    for (let tries = 0; !existsSync(file) && tries < 1_000; tries++) await Bun.sleep(10);
    return readFileSync(file, 'utf8');
  };
  const laptop = newLaptop({ BROWSER: `f() { printf %s "$1" >${file}.new && mv ${file}.new ${file}; }; f` });
  return { ...laptop, opened, isOpened: () => existsSync(file) };
}

/** A running login in a process without a terminal. */
export type RunningLogin = {
  /** The URL of the page that asks the person. */
  address: string;
  pid: number;
  finished: Promise<{ code: number; stdout: string; stderr: string }>;
};

/** Starts `profilectl login`, and waits until it has printed the URL of the page. */
export async function startLogin(words: readonly string[], { variables }: Laptop): Promise<RunningLogin> {
  const child = Bun.spawn(profilectlWords(['login', ...words]), {
    env: commandEnvironment(variables),
    cwd: PROJECT,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const address = Promise.withResolvers<string>();
  const gather = async () => {
    let printed = '';
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) {
      printed += decoder.decode(chunk, { stream: true });
      const [, found] = /\n(https?:\S+\/developers\/cli\?\S+)\n/.exec(printed) ?? [];
      if (found !== undefined) address.resolve(found);
    }
    address.reject(new Error(`no address in: ${printed}`));
    return printed;
  };
  const finish = async () => {
    const [stdout, stderr, code] = await Promise.all([new Response(child.stdout).text(), gather(), child.exited]);
    noteOutput(stdout + stderr);
    return { code, stdout, stderr };
  };
  const finished = finish();
  return { address: await address.promise, pid: child.pid, finished };
}

/** The page's response: the URL to which it redirects the browser, and the code in it or on the page. */
export type Decided = { goOn: string | null; code: string | null };

/** Decides on the page of a login as the person with this session cookie. */
export async function decideOn(address: string, cookie: string, decision: 'allow' | 'refuse'): Promise<Decided> {
  const { origin, pathname, search } = new URL(address);
  const page = await fetchPage({ url: origin }, pathname + search, { headers: { cookie } });
  const fields = [...hiddenIn({ body: await page.text() } as PageAnswer), ['decision', decision] as [string, string]];
  const headers = { cookie, 'content-type': 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams(fields).toString();
  const answer = await fetchPage({ url: origin }, pathname, { method: 'POST', headers, body });
  const text = await answer.text();
  const [goOn, code] = [goOnIn(text)?.href ?? null, codeIn(text)];
  if (code !== null) (goOn === null ? noteSecretsIn : noteToken)(code);
  return { goOn, code };
}

/** The command lines of this process and its descendants, which every user of this machine can read. */
export function commandLines(): string {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    // The name of the program is in parentheses, and may contain any character.
    const [, parent] = /^\S+ \(.*\) \S (\d+)/s.exec(readIfThere(`/proc/${name}/stat`)) ?? [];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const isOurs = (pid: number | undefined): boolean =>
    pid !== undefined && (pid === process.pid || isOurs(parents.get(pid)));
  return [...parents.keys()]
    .filter(isOurs)
    .map((pid) => readIfThere(`/proc/${pid}/cmdline`))
    .join('\n');
}

/** Returns an empty string if the process has ended. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

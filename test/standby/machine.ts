import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Images } from './images.ts';

/** One of the two machines: its name, as in deploy/standby/profiles.res, and the state of its clock and link. */
export type Setup = { name: 'alpha' | 'beta'; clockAheadSeconds: number; linkDelayMs: number };

/** A running virtual machine. */
export type Machine = Setup & {
  /** The URL of its port 3000. */
  url: string;
  /** Runs a script in a shell of the machine; returns its output, or the part of it before the machine died. */
  shell: (script: string) => Promise<string>;
  /** Kills the emulator: the machine's memory is lost, as in a power cut. */
  cut: () => Promise<void>;
};

const ADDRESSES = { alpha: '10.0.0.1', beta: '10.0.0.2' } as const;
/** Processors are emulated, and slow. */
const TIME_LIMIT_MS = 600_000;

/** Makes a new disk for a machine. Both start with the same content. */
export function makeVolume(folder: string, images: Images, name: Setup['name']): void {
  copyFileSync(images.volume, join(folder, `${name}.img`));
}

/** Starts a machine on its disk and waits until it has booted. Processors are emulated, so KVM is not needed. */
export async function startMachine(folder: string, images: Images, setup: Setup): Promise<Machine> {
  const console = join(folder, `${setup.name}.log`);
  writeFileSync(console, '');
  const child = Bun.spawn(['qemu-system-x86_64', ...emulatorOptions(folder, images, setup, console)], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  process.on('exit', () => child.kill('SIGKILL'));
  let printed = '';
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) printed += decoder.decode(chunk);
  })();
  const isThere = () => child.exitCode === null;
  await waitFor(`${setup.name} to boot`, () => readFileSync(console, 'utf8').includes('BOOTED'), isThere);
  child.stdin.write('info usernet\n');
  await child.stdin.flush();
  const portOf = (inside: number) =>
    Number(new RegExp(`HOST_FORWARD\\]\\s+\\d+\\s+\\S+\\s+(\\d+)\\s+\\S+\\s+${inside}\\s`).exec(printed)?.[1]);
  await waitFor('the forwarded ports', () => portOf(3000) > 0 && portOf(7000) > 0, isThere);
  // The machine has booted before its shells are ready.
  const hasShell = async () => (await talk(portOf(7000), 'echo is there')).includes('is there');
  await waitFor(`a shell of ${setup.name}`, hasShell, isThere);
  return {
    ...setup,
    url: `http://127.0.0.1:${portOf(3000)}`,
    shell: (script) => talk(portOf(7000), script),
    cut: async () => {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

function emulatorOptions(folder: string, images: Images, setup: Setup, console: string): string[] {
  const other = setup.name === 'alpha' ? 'beta' : 'alpha';
  const socket = (name: string) => join(folder, `${name}.sock`);
  rmSync(socket(setup.name), { force: true });
  const clock = new Date(Date.now() + setup.clockAheadSeconds * 1000).toISOString().slice(0, 19);
  const drive = (file: string, more: string) => ['-drive', `if=virtio,format=raw,file=${file},${more}`];
  const link = `dgram,id=link,local.type=unix,local.path=${socket(setup.name)},remote.type=unix,remote.path=${socket(other)}`;
  const delay = `filter-buffer,id=delay,netdev=link,queue=all,interval=${setup.linkDelayMs * 1000}`;
  return [
    ...['-accel', 'tcg,thread=multi', '-cpu', 'max', '-m', '640', '-nodefaults', '-no-reboot', '-display', 'none'],
    ...['-rtc', `base=${clock}`, '-serial', `file:${console}`, '-monitor', 'stdio'],
    ...['-kernel', images.kernel, '-initrd', images.initrd],
    ...['-append', `console=ttyS0 quiet panic=-1 name=${setup.name} link=${ADDRESSES[setup.name]}`],
    ...drive(images.program, 'readonly=on'),
    ...drive(join(folder, `${setup.name}.img`), 'cache=unsafe'),
    ...['-netdev', 'user,id=host,hostfwd=tcp:127.0.0.1:0-:7000,hostfwd=tcp:127.0.0.1:0-:3000'],
    ...['-device', 'virtio-net-pci,netdev=host', '-netdev', link],
    ...['-device', `virtio-net-pci,netdev=link,mac=52:54:00:00:00:0${setup.name === 'alpha' ? 1 : 2}`],
    ...(setup.linkDelayMs > 0 ? ['-object', delay] : []),
  ];
}

/** Sends a script to the shell behind a port and returns its output until the connection ends. */
function talk(port: number, script: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const decoder = new TextDecoder();
  let printed = '';
  const done = () => resolve(printed);
  Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      open: (socket) => void socket.write(`${script}\nexit\n`),
      data: (_socket, chunk) => {
        printed += decoder.decode(chunk, { stream: true });
      },
      close: done,
      error: done,
    },
  }).catch(done);
  return promise;
}

/** Polls until something holds. Throws after ten minutes, or if `isPossible` no longer holds. */
export async function waitFor(
  what: string | (() => string),
  isSo: () => boolean | Promise<boolean>,
  isPossible = () => true,
): Promise<void> {
  const deadline = performance.now() + TIME_LIMIT_MS;
  while (!(await isSo())) {
    if (!isPossible() || performance.now() > deadline) {
      throw new Error(`Waited in vain for ${typeof what === 'string' ? what : what()}.`);
    }
    await Bun.sleep(100);
  }
}

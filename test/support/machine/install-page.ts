import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from '../cli.ts';
import { programPath } from '../network/proxy.ts';
import { copyPackage, type DebianRoot, NO_DEBIAN_ROOT } from './debian-root.ts';

// Follows docs/install.md on a Debian system in a folder. Its commands run exactly as written, as root in one shell, in an
// isolated network, so that the ports are those of the page. REPLACED lists the exceptions.

/** The other programs that the page installs. */
const OTHERS = ['caddy', 'curl', 'restic'];

const MISSING = [...OTHERS, 'ip', 'unshare'].find((name) => programPath(name) === null);

/** Why the page can't be followed here, or null if it can be. */
export const CANNOT_FOLLOW = NO_DEBIAN_ROOT ?? (MISSING === undefined ? null : `this machine has no ${MISSING}`);

/** How long following the page may take: shorter than the time limits of tests, which do not show what was printed. */
const LIMIT_MS = 50_000;

/** The folder where the mails arrive, inside. */
const MAILS = '/var/lib/profile-lookup/mails';

const APT_GET = `#!/bin/sh
set -eu
[ "$1" != update ] || exit 0
shift 2
for name; do
  case $name in
    ./*) dpkg --install "$name" ;;
    *) cp -alf "/opt/packages/$name/." / ;;
  esac
done
`;

const SYSTEMCTL = `#!/bin/sh
set -eu
# Services end with the shell, so the package's own scripts have nothing to do.
case $1 in daemon-reload | --quiet) exit 0 ;; esac
shift
[ "$1" != --now ] || shift
for name; do
  case $name in *.timer) unit=$name ;; *) unit=$name.service ;; esac
  file=$(ls "/etc/systemd/system/$unit" "/usr/lib/systemd/system/$unit" 2>/dev/null | head -n 1)
  [ -n "$file" ]
  case $unit in
    *.timer) continue ;;
    caddy.service)
      sed -i '0,/^{$/s//{\\n\\tlocal_certs\\n\\tskip_install_trust/' /etc/caddy/Caddyfile
      XDG_DATA_HOME=/opt caddy start --config /etc/caddy/Caddyfile >/tmp/caddy.log 2>&1
      continue
      ;;
  esac
  get() { sed -n "s/^$1=//p" "$file"; }
  user=$(get User)
  set -- "PATH=$PATH" $(get Environment)
  for path in $(get EnvironmentFile); do
    while read -r line; do case $line in '' | '#'*) ;; *) set -- "$@" "$line" ;; esac; done <"$path"
  done
  for folder in $(get CacheDirectory); do
    install -d -m 0700 -o "$user" "/var/cache/$folder"
    set -- "$@" "CACHE_DIRECTORY=/var/cache/$folder"
  done
  start=$(get ExecStart)
  run() { FOLDERS=$(get TemporaryFileSystem) FILES=$(get BindReadOnlyPaths) unshare --mount --propagation unchanged in-unit "$user" "$@" $start; }
  cd /var/lib/profile-lookup
  if [ "$(get Type)" = oneshot ]; then run "$@"; else run "$@" </dev/null >"/tmp/$name.log" 2>&1 & fi
done
`;

/** Hides the folders that the unit hides, except the files that it binds and that exist, and runs the command as its user. */
const IN_UNIT = `#!/bin/sh
set -eu
for folder in $FOLDERS; do
  hidden=$(mktemp -d)
  mount --bind "\${folder%:ro}" "$hidden"
  mount -t tmpfs -o mode=0755 tmpfs "\${folder%:ro}"
  for file in $FILES; do
    file=\${file#-}
    [ -e "$hidden/\${file##*/}" ] || continue
    touch "$file"
    mount --bind "$hidden/\${file##*/}" "$file"
  done
  umount "$hidden"
done
user=$1
shift
exec runuser -u "$user" -- env -i "$@"
`;

/** The parts of the page that are not run as written, and their replacements. */
export const REPLACED = {
  'apt-get': 'a script: dpkg installs our package; other packages and their dependencies are copied from this machine',
  systemctl:
    "a script: a service's own ExecStart, as its User, with its variables, folders and hidden files; no timer runs",
  'a domain that points here': '/etc/hosts inside',
  'a certificate from outside': "Caddy's own authority (local_certs), which curl is made to trust",
  'a mail server': `MAIL_URL is file:${MAILS}`,
  'storage elsewhere': 'a folder inside',
  'an admin with a browser': 'none: the command that confirms the passkey has to say that there is none',
};

/** Changes to the page's lines, each of which must exist. */
const CHANGED = {
  "REPOSITORY='s3:https://s3.elsewhere.example.org/profile-lookup'": "REPOSITORY='/var/lib/profile-lookup/storage'",
  'pl admins confirm "$NAME"': '! pl admins confirm "$NAME"',
};

/** The shell blocks of the page, by heading. */
export function pageBlocks(): { heading: string; text: string }[] {
  const page = readFileSync(join(PROJECT, 'docs/install.md'), 'utf8');
  for (const part of Object.keys(CHANGED)) if (!page.includes(part)) throw new Error(`the page does not say: ${part}`);
  return page.split(/^## /m).flatMap((section) => {
    const heading = section.slice(0, section.indexOf('\n'));
    return [...section.matchAll(/^```sh\n(.*?)^```/gms)].map(([, text = '']) => ({ heading, text }));
  });
}

/** Sets up what REPLACED lists. The files of a release in `release` are linked into root's home. */
export function prepareForPage(root: DebianRoot, release: readonly string[]): void {
  mkdirSync(join(root.folder, 'usr/local/bin'), { recursive: true });
  const scripts = { 'apt-get': APT_GET, systemctl: SYSTEMCTL, 'in-unit': IN_UNIT };
  for (const [name, text] of Object.entries(scripts)) {
    writeFileSync(join(root.folder, 'usr/local/bin', name), text, { mode: 0o755 });
  }
  for (const name of OTHERS) copyPackage(name, join(root.folder, 'opt/packages', name));
  writeFileSync(join(root.folder, 'etc/hosts'), '127.0.0.1 localhost api.example.org\n');
  const home = join(root.folder, 'root');
  mkdirSync(home, { recursive: true });
  Bun.spawnSync(['cp', '--link', ...release, home]);
}

/**
 * Runs these blocks in one shell, which ends at the first failing command, together with the processes it started.
 * `secretIn` finds the secret in the folder of mails when the shell asks for it. Returns the output of each block;
 * throws if one failed or all take too long, with the logs of the services.
 */
export async function followPage(
  root: DebianRoot,
  blocks: readonly string[],
  secretIn: (mails: string) => string,
): Promise<string[]> {
  let script = 'cd /root\n';
  for (const block of blocks) script += `echo '## block'\n${block}`;
  for (const [part, other] of Object.entries(CHANGED)) script = script.replace(part, other);
  writeFileSync(join(root.folder, 'root/page.sh'), script);
  const own = [
    'unshare',
    '--net',
    '--pid',
    '--fork',
    '--kill-child',
    'sh',
    '-c',
    'ip link set lo up && exec "$@"',
    'sh',
  ];
  const trust = 'CURL_CA_BUNDLE=/opt/caddy/pki/authorities/local/root.crt';
  const path = 'PATH=/usr/local/bin:/usr/sbin:/usr/bin';
  const words = root.words('env', path, trust, 'bash', '-e', '-o', 'pipefail', '/root/page.sh');
  const options = { timeout: LIMIT_MS, killSignal: 'SIGKILL' } as const;
  const child = Bun.spawn([...own, ...words], { ...options, stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' });
  const errors = new Response(child.stderr).text();
  const secretBlock = blocks.findIndex((block) => block.endsWith('SECRET\n'));
  child.stdin.write(`file:${MAILS}\n`);
  let printed = '';
  let isSecretDone = secretBlock === -1;
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    printed += chunk;
    if (isSecretDone || printed.split('## block\n').length - 2 < secretBlock) continue;
    isSecretDone = true;
    child.stdin.write(`${secretIn(join(root.folder, MAILS))}\n`);
    child.stdin.flush();
  }
  child.stdin.end();
  // The link where an admin registers a passkey is a secret.
  const said = printed.replace(/enrol#\S+/g, 'enrol#');
  if ((await child.exited) !== 0) {
    const logs = globSync(join(root.folder, 'tmp/*.log')).map((path) => `\n${path}: ${readFileSync(path, 'utf8')}`);
    const what = child.signalCode === null ? 'failed' : `did not end within ${LIMIT_MS / 1_000} s`;
    throw new Error(`a command of the page ${what}: ${said}${await errors}${logs.join('')}`);
  }
  return said.split('## block\n').slice(1);
}

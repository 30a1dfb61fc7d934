import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Ports outside the default ephemeral ranges of Linux and macOS, which the system does not assign. */
const UNASSIGNED_PORTS = { min: 10_000, max: 32_000 } as const;

/**
 * A port of 127.0.0.1 for a server that starts later, but whose URL is needed before. The system assigns it neither
 * to a test that asks for any port, nor to a connection.
 */
export function freePort(): number {
  for (;;) {
    const port = randomInt(UNASSIGNED_PORTS.min, UNASSIGNED_PORTS.max);
    try {
      Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true);
      return port;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    }
  }
}

const FOLDER = join(import.meta.dir, 'certificates');

/** The certificate of the authority that signed the test certificates, for `NODE_EXTRA_CA_CERTS` of a child process. */
export const TEST_CA_FILE = join(FOLDER, 'ca.pem');

/** The certificate in {@link TEST_CA_FILE}, as PEM text. */
export const TEST_CA = readFileSync(TEST_CA_FILE, 'utf8');

/**
 * A test certificate and its key, as PEM text and as files. `localhost` is valid for localhost, 127.0.0.1 and ::1;
 * `elsewhere` only for mail.example.org. Both are valid from 2020 to 2120.
 */
export function testCertificate(name: 'localhost' | 'elsewhere' = 'localhost') {
  const certFile = join(FOLDER, `${name}.pem`);
  const keyFile = join(FOLDER, `${name}.key`);
  return { certFile, keyFile, cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
}

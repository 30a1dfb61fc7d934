/** A kind of Linux machine that a release is built for, and the npm package with Bun for it. */
export type Target = {
  /** The name in the names of the release's files. */
  name: string;
  /** Bun's name for it in builds. */
  bunTarget: Bun.Build.CompileTarget;
  /** The package; its version is {@link BUN_VERSION}. */
  package: string;
  /** The SHA-512 of the package's tarball in base64, as npm publishes it ("sha512-…"). */
  integrity: string;
  /** Debian's name for the architecture; null if no Debian package is built for it. */
  debian: string | null;
};

/** The version of Bun that bundles the program, and that each executable contains. */
export const BUN_VERSION = '1.4.5';

/** All targets. `npm view <package>@<version> dist.integrity` prints the integrity of another version. */
export const TARGETS: readonly Target[] = [
  {
    name: 'linux-x64',
    bunTarget: 'bun-linux-x64',
    package: '@oven/bun-linux-x64',
    integrity: 'sha512-IWX9BELoGHAUtMonkeSaNaZwXzRk+oDw6Mk+HBFXd3KHYIBNBsIGRupMZPcgNoDbJpLu6gAJjIoIVPZtt1aJ1g==',
    debian: null,
  },
  {
    name: 'linux-x64-baseline',
    bunTarget: 'bun-linux-x64-baseline',
    package: '@oven/bun-linux-x64-baseline',
    integrity: 'sha512-s8yMwYcFnnrA178gji0gZbkE2WVDej/Ti1x770oPfihxyRxSMNhGhiAQNXV53aDeraZxksdvKV/RAdQBCd0qPA==',
    debian: 'amd64',
  },
  {
    name: 'linux-arm64',
    bunTarget: 'bun-linux-arm64',
    package: '@oven/bun-linux-aarch64',
    integrity: 'sha512-4BXmsSKnjOrlGWqZV4x/oWa7AVoR+B6lCXddMzOAXBIm3t50eslg9wb66gmtW1AamEQ1l1CDvmmruysEhqOWMg==',
    debian: 'arm64',
  },
  {
    name: 'linux-x64-musl',
    bunTarget: 'bun-linux-x64-musl',
    package: '@oven/bun-linux-x64-musl',
    integrity: 'sha512-10QoW/YfTgnURaGEaHpJCiXjLI2e5iTtfVDaA5JKcyUzaa1cq6cVUY9/Uq5XkYzvtRjHLRe9Oj/lTDIQcxy8HQ==',
    debian: null,
  },
];

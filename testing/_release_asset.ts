/** The parts of a release that a platform needs. */
export interface ReleaseAsset {
  /** The archive's file name. */
  readonly archive: string;
  /** The binary's path inside the archive. */
  readonly binary: string;
}

const systems: { readonly [platform: string]: string } = {
  darwin: "darwin",
  freebsd: "freebsd",
  linux: "linux",
  win32: "windows",
};

const processors: { readonly [architecture: string]: string } = {
  arm: "arm7",
  arm64: "arm64",
  ia32: "386",
  ppc64: "ppc64le",
  s390x: "s390x",
  x64: "amd64",
};

/** Names the archive for a platform as Node names it, or `undefined` where there is no release. */
export function releaseAsset(
  version: string,
  platform: string,
  architecture: string,
): ReleaseAsset | undefined {
  const [system, processor] = [systems[platform], processors[architecture]];
  if (system === undefined || processor === undefined) return undefined;
  const name = `nats-server-v${version}-${system}-${processor}`;
  return system === "windows"
    ? { archive: `${name}.zip`, binary: `${name}/nats-server.exe` }
    : { archive: `${name}.tar.gz`, binary: `${name}/nats-server` };
}

/** Finds a file's checksum in the text of a SHA256SUMS file, in lower case. */
export function checksumOf(fileName: string, sums: string): string | undefined {
  for (const line of sums.split(/\r?\n/)) {
    const match = /^([0-9a-fA-F]{64})\s+\*?(?:\.\/)?(.+?)\s*$/.exec(line);
    if (match?.[2] === fileName) return match[1]?.toLowerCase();
  }
  return undefined;
}

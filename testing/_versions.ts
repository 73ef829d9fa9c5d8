/** Which nats-server a test asks for: the newest one, or the oldest that is supported. */
export type NatsServerVersion = "newest" | "floor";

/** What the code has to know about one of the two versions. */
export interface VersionWanted {
  readonly name: NatsServerVersion;
  /** Said in messages: which versions count as fitting. */
  readonly range: string;
  /** The release that is downloaded where there is no package; also part of the cache's file name. */
  readonly release: string;
  /** The Debian suite that ships it. */
  readonly debianSuite: string;
  /** The environment variable that names a binary. */
  readonly variable: string;
}

const wanted: { readonly [Name in NatsServerVersion]: VersionWanted } = {
  newest: {
    name: "newest",
    range: "2.12.0 or newer",
    release: "2.15.1",
    debianSuite: "forky",
    variable: "TRELLIS_NATS_SERVER",
  },
  floor: {
    name: "floor",
    range: "2.10.x",
    release: "2.10.27",
    debianSuite: "trixie",
    variable: "TRELLIS_NATS_SERVER_FLOOR",
  },
};

/** The facts about a version; throws a `RangeError` for a name that is neither of the two. */
export function versionWanted(name: NatsServerVersion): VersionWanted {
  // JavaScript callers can pass anything, and `undefined.range` would explain nothing.
  if (!Object.hasOwn(wanted, name)) {
    throw new RangeError(
      `Cannot find nats-server: the version must be "newest" or "floor", not "${name}"`,
    );
  }
  return wanted[name];
}

/** Reads `2.15.1` out of what `nats-server --version` prints (`nats-server: v2.15.1`). */
export function parseVersion(output: string): string | undefined {
  return /nats-server\S* v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?)/.exec(output)?.[1];
}

/** Orders two versions by their three numbers; a pre-release counts as its release. */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [numbersOf(left), numbersOf(right)];
  for (let place = 0; place < 3; place++) {
    const difference = (a[place] ?? 0) - (b[place] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Whether a binary of this version may serve as the wanted one. */
export function fits(version: string, name: NatsServerVersion): boolean {
  if (name === "newest") return compareVersions(version, "2.12.0") >= 0;
  return compareVersions(version, "2.10.0") >= 0 && compareVersions(version, "2.11.0") < 0;
}

function numbersOf(version: string): number[] {
  return (version.split("-")[0] ?? "").split(".").map(Number);
}

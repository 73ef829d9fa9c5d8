/** One entry of a machine's apt sources, with only the fields that choosing a mirror needs. */
export interface AptSource {
  readonly uris: readonly string[];
  readonly suites: readonly string[];
  readonly components: readonly string[];
  /** A keyring's path, or an embedded key with its line breaks as written. */
  readonly signedBy: string | undefined;
}

/** Where packages come from and who must have signed them. */
export interface DebianMirror {
  readonly uri: string;
  readonly signedBy: string | undefined;
}

/** Reads a deb822 `.sources` file: stanzas of fields, where a comment may stand on any line. */
export function parseSourcesFile(text: string): AptSource[] {
  const lines = text.split(/\r?\n/).filter((line) => !line.startsWith("#"));
  return lines.join("\n").split(/\n[ \t]*\n/).flatMap((stanza) => {
    const fields = parseFields(stanza);
    const words = (name: string) => (fields.get(name) ?? "").split(/\s+/).filter(Boolean);
    const enabled = !/^(no|false|off|0|without|disable)$/i.test(fields.get("enabled") ?? "yes");
    if (!enabled || !words("types").includes("deb")) return [];
    return [{
      uris: words("uris"),
      suites: words("suites"),
      components: words("components"),
      signedBy: fields.get("signed-by"),
    }];
  });
}

/** Reads a one-line-per-source `.list` file. */
export function parseListFile(text: string): AptSource[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const match = /^\s*deb\s+(?:\[([^\]]*)\]\s*)?(\S+)\s+(\S+)([^#]*)/.exec(line);
    const [, options = "", uri, suite, components = ""] = match ?? [];
    if (uri === undefined || suite === undefined) return [];
    return [{
      uris: [uri],
      suites: [suite],
      components: components.split(/\s+/).filter(Boolean),
      signedBy: /(?:^|\s)signed-by=(\S+)/i.exec(options)?.[1],
    }];
  });
}

/**
 * Chooses the machine's mirror of the Debian archive, or `undefined` when it has none.
 *
 * Other vendors also use paths that end in `/debian`, so what merely looks like the archive loses
 * against what is signed with Debian's keyring or carries the `-updates` suite beside the release.
 */
export function chooseDebianMirror(sources: readonly AptSource[]): DebianMirror | undefined {
  const suitesOf = (uri: string) =>
    sources.filter((source) => source.uris.includes(uri)).flatMap((source) => source.suites);
  const candidates = sources
    .filter((source) => source.components.includes("main") && source.suites.some(isRelease))
    .flatMap(({ uris, signedBy }) => uris.filter(isArchive).map((uri) => ({ uri, signedBy })));
  const likeness = ({ uri, signedBy }: DebianMirror): number =>
    (signedBy?.includes("debian-archive") ? 4 : 0) +
    (suitesOf(uri).some((suite) => suite.endsWith("-updates")) ? 2 : 0) +
    (/^[^/]+\/\/[^/]+\/debian\/?$/.test(uri) ? 1 : 0);
  return candidates.toSorted((left, right) => likeness(right) - likeness(left))[0];
}

/** Writes the sources file that asks the mirror for another suite. */
export function formatSource(mirror: DebianMirror, suite: string): string {
  const lines = ["Types: deb", `URIs: ${mirror.uri}`, `Suites: ${suite}`, "Components: main"];
  if (mirror.signedBy !== undefined) lines.push(`Signed-By: ${mirror.signedBy}`);
  return lines.join("\n") + "\n";
}

function parseFields(stanza: string): Map<string, string> {
  const fields = new Map<string, string>();
  let name: string | undefined;
  for (const line of stanza.split("\n")) {
    const match = /^([A-Za-z0-9-]+):[ \t]*(.*)$/.exec(line);
    if (match?.[1] !== undefined) {
      name = match[1].toLowerCase();
      fields.set(name, (match[2] ?? "").trimEnd());
    } else if (name !== undefined && /^[ \t]/.test(line)) {
      fields.set(name, `${fields.get(name)}\n${line.trimEnd()}`);
    }
  }
  return fields;
}

function isRelease(suite: string): boolean {
  return /^[a-z]+$/.test(suite);
}

/** A mirror of the archive, or apt's own list of mirrors as Debian's cloud images have it. */
function isArchive(uri: string): boolean {
  return /^(https?|ftp|file|copy|tor\+https?):.*\/debian\/?$/.test(uri) ||
    /^mirror\+[a-z]+:.*\/debian\.list$/.test(uri);
}

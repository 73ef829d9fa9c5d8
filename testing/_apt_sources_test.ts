import assert from "node:assert/strict";
import {
  chooseDebianMirror,
  formatSource,
  parseListFile,
  parseSourcesFile,
} from "./_apt_sources.ts";

const debianSources = `Types: deb
# http://snapshot.test/archive/debian/20250520T000000Z
URIs: http://mirror.test/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.test/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
`;

Deno.test("parseSourcesFile() reads stanzas past comments", () => {
  const sources = parseSourcesFile(debianSources);
  assert.equal(sources.length, 2);
  assert.deepEqual(sources[0], {
    uris: ["http://mirror.test/debian"],
    suites: ["bookworm", "bookworm-updates"],
    components: ["main"],
    signedBy: "/usr/share/keyrings/debian-archive-keyring.gpg",
  });
});

Deno.test("parseSourcesFile() leaves out disabled and source-only stanzas", () => {
  const body = "URIs: http://mirror.test/debian\nSuites: bookworm\nComponents: main\n";
  assert.deepEqual(parseSourcesFile(`Types: deb\nEnabled: no\n${body}`), []);
  assert.deepEqual(parseSourcesFile(`Types: deb-src\n${body}`), []);
  assert.equal(parseSourcesFile(`types: deb deb-src\nEnabled: yes\n${body}`).length, 1);
});

Deno.test("parseSourcesFile() keeps an embedded key line for line", () => {
  const key =
    "\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBGE\n -----END PGP PUBLIC KEY BLOCK-----";
  const text =
    `Types: deb\nURIs: http://mirror.test/debian\nSuites: bookworm\nComponents: main\nSigned-By:${key}\n`;
  const mirror = chooseDebianMirror(parseSourcesFile(text));
  assert.ok(mirror);
  assert.equal(mirror.signedBy, key);
  assert.deepEqual(chooseDebianMirror(parseSourcesFile(formatSource(mirror, "trixie"))), mirror);
});

Deno.test("parseListFile() reads options, components and comments", () => {
  const text = `# deb http://old.test/debian bullseye main
deb [arch=amd64 signed-by=/etc/keyring.gpg] http://mirror.test/debian/ bookworm main contrib # ours
deb-src http://mirror.test/debian bookworm main
deb http://mirror.test/debian bookworm-updates main`;
  assert.deepEqual(parseListFile(text), [
    {
      uris: ["http://mirror.test/debian/"],
      suites: ["bookworm"],
      components: ["main", "contrib"],
      signedBy: "/etc/keyring.gpg",
    },
    {
      uris: ["http://mirror.test/debian"],
      suites: ["bookworm-updates"],
      components: ["main"],
      signedBy: undefined,
    },
  ]);
});

Deno.test("chooseDebianMirror() takes the archive and never a security or vendor repository", () => {
  const vendors = parseListFile(`deb https://vendor.test/apt cloud-sdk-bookworm main
deb https://vendor.test/linux/debian bookworm stable
deb [signed-by=/etc/vendor.gpg] https://vendor.test/runner/debian bookworm main
deb http://mirror.test/debian-security bookworm-security main`);
  assert.equal(
    chooseDebianMirror([...vendors, ...parseSourcesFile(debianSources)])?.uri,
    "http://mirror.test/debian",
  );
  const security = "deb http://mirror.test/debian bookworm-security main";
  assert.equal(chooseDebianMirror(parseListFile(security)), undefined);
  const ubuntu = "deb http://mirror.test/ubuntu noble main";
  assert.equal(chooseDebianMirror(parseListFile(ubuntu)), undefined);
});

Deno.test("chooseDebianMirror() takes a mirror list of a cloud image", () => {
  const text = `Types: deb
URIs: mirror+file:///etc/apt/mirrors/debian.list
Suites: bookworm bookworm-updates
Components: main`;
  assert.equal(
    chooseDebianMirror(parseSourcesFile(text))?.uri,
    "mirror+file:///etc/apt/mirrors/debian.list",
  );
});

Deno.test("formatSource() asks for another suite and keeps the signature's keyring", () => {
  assert.equal(
    formatSource({ uri: "http://mirror.test/debian", signedBy: "/etc/keyring.gpg" }, "forky"),
    "Types: deb\nURIs: http://mirror.test/debian\nSuites: forky\nComponents: main\n" +
      "Signed-By: /etc/keyring.gpg\n",
  );
});
